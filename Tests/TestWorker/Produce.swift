import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient
import Logging

/// Enqueues jobs whose effects are counted, and ends when all are enqueued, through any outage.
///
/// The transaction that enqueues a batch records it in `asked (first, count)`. A batch whose commit was not confirmed
/// is retried, and the record tells whether it exists.
struct Produce: AsyncParsableCommand {
  @OptionGroup var options: SettingsOptions

  @Option(help: "The number of the first job.")
  var first = 0

  @Option(help: "How many jobs.")
  var count: Int

  @Option(help: "How many jobs a transaction asks for.")
  var batch = 100

  @Option(help: "How many jobs a second; 0 is as many as possible.")
  var rate = 0

  func run() async throws {
    try await Program.run("test-producer", options, requiring: [.postgresURL, .redisURL], logLevel: .error) { program in
      try await program.withServers { servers in
        let broker = try await RedisBroker(client: servers.redis, logger: program.logger)
        let pusher = JobPusher(broker: broker, logger: program.logger)
        let client = JobClient(
          broker: broker, ledger: PostgresLedger(pool: servers.postgres), pusher: pusher, logger: program.logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { await pusher.run() }
          let start = ContinuousClock.now
          for offset in stride(from: 0, to: count, by: batch) {
            if rate > 0 { try await Task.sleep(until: start + .seconds(1) * offset / rate) }
            try await askUntilNoted(first + offset..<first + min(offset + batch, count), client, program.logger)
          }
          // The relay pushes the remaining jobs.
          group.cancelAll()
        }
      }
    }
  }

  private func askUntilNoted(
    _ numbers: Range<Int>, _ client: JobClient<RedisBroker, PostgresLedger>, _ logger: Logger
  ) async throws {
    while true {
      do {
        return try await ask(numbers, client)
      } catch let error as PostgresError where error.code != .cancelled {
        logger.info("a batch is tried again", metadata: [LogKeys.error: "\(error)"])
        try await Task.sleep(for: .milliseconds(200))
      }
    }
  }

  private func ask(_ numbers: Range<Int>, _ client: JobClient<RedisBroker, PostgresLedger>) async throws {
    try await client.transaction { transaction in
      let noted = try await transaction.sql.query(
        """
        INSERT INTO asked (first, count) VALUES (\(numbers.lowerBound), \(numbers.count))
        ON CONFLICT DO NOTHING RETURNING 1
        """)
      if noted.count == 0 { return }
      _ = try await transaction.enqueue(numbers.map { CountEffect(number: $0) })
    }
  }
}
