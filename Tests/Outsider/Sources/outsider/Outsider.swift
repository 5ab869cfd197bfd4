import ArgumentParser
import Crypto
import DurableJobs
import DurableJobsCLI
import DurableJobsPostgres
import Hummingbird
import Jobs
import JobsPostgres
import JobsRedis
import NIOCore
import NIOPosix
import PostgresNIO
import PrivateServers
import Queues
import RediStack
import Redis

/// The outsider's program: `outsider try` runs a job on its own servers and then the queue's commands on it.
@main
struct Outsider: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "outsider", subcommands: [Try.self] + QueueCommands<OutsiderProgram>.all)

  static let neighbors = [
    CryptoNeighbor.name, HummingbirdNeighbor.name, JobsNeighbor.name, JobsPostgresNeighbor.name,
    JobsRedisNeighbor.name, NIOCoreNeighbor.name, NIOPosixNeighbor.name,
    PostgresNIONeighbor.name, QueuesNeighbor.name, RediStackNeighbor.name, RedisNeighbor.name,
  ]
}

struct Try: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "try")

  func run() async throws {
    let redis = try await PrivateRedis.start()
    let postgres = try await PrivatePostgres.start(options: .tests)
    let settings = ["--redis", redis.url, "--postgres", postgres.url]
    let session = OutsiderSession(redis: redis.url, postgres: postgres.url)
    try await session.withDatabase { database in
      try await JobsSchema.migrate(database.pool)
      try await database.pool.execute(Shop.table)
    }
    let order = try await Shop.sell(session)
    for command in [
      ["jobs", "show", order.description, "--json"], ["queues", "list", "--json"], ["stats", "--json"],
      ["workers", "list"], ["doctor"],
    ] {
      guard var parsed = try Outsider.parseAsRoot(command + settings) as? any AsyncParsableCommand else { continue }
      print("$ outsider \(command.joined(separator: " "))")
      do {
        try await parsed.run()
      } catch let status as ExitCode where command[0] != "queues" && command[0] != "stats" {
        // The job is done and its worker has left, which `jobs show` and `doctor` say with their status.
        print("status \(status.rawValue)")
      }
    }
    await redis.stop()
    await postgres.stop()
    print("outsider: the job is done once, beside \(Outsider.neighbors.joined(separator: ", "))")
  }
}
