import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import HiredisClient
import LibPQClient
import PrivateServers
import ProgramTestSupport
import TestSupport
import Testing

@testable import DurableJobsAdmin

/// The doctor's findings on Redis and Postgres, on real servers.
@Suite(.timeLimit(.minutes(3)), .serialized) struct DoctorTests {
  private func redis(_ url: String) async throws -> [String: Finding] {
    let examination = RedisExamination(
      configuration: try RedisConfiguration(url: url), prefix: RedisBroker.standardPrefix, queues: [.default],
      terms: DoctorTerms(), loop: .tests, logger: .quiet)
    return Dictionary(await examination.run().map { ($0.name, $0) }, uniquingKeysWith: { $1 })
  }

  @Test("Sentinels that are gone, and a master without a replica")
  func sentinels() async throws {
    let group = try await PrivateSentinels.start(replicas: 1, downAfter: 500)
    let well = try await redis(group.url)
    #expect(well["Redis"]?.status == .ok)
    #expect(well["Redis sentinels"]?.status == .ok)
    #expect(well["Redis sentinels"]?.detail.hasPrefix("3 of 3 sentinels answer") == true)
    #expect(well["Redis replicas"]?.status == .ok)
    await group.servers[1].kill9()
    await group.sentinels[2].kill9()
    try await eventually("the master knows that its replica is gone") {
      try await redis(group.url)["Redis replicas"]?.status == .warn
    }
    #expect(try await redis(group.url)["Redis sentinels"]?.status == .warn)
    await group.sentinels[1].kill9()
    try await eventually("the last sentinel knows that it is alone") {
      try await redis(group.url)["Redis sentinels"]?.status == .fail
    }
    await group.stop()
  }

  @Test("Who holds the oldest snapshot, in the doctor's words and in the sample of the stack")
  func snapshot() async throws {
    try await TestStack.with { stack in
      let connection = try await PostgresConnection.connect(
        try PostgresConfiguration(url: stack.postgresURL), loop: .tests, logger: .quiet)
      try await stack.pool.transaction(.snapshot) { transaction in
        let holder = try await transaction.query("SELECT pg_backend_pid()")[0].decode(Int.self)
        let oldest = try await connection.transaction { try await OldestSnapshot.read(in: $0) }
        #expect(oldest?.holder.hasPrefix("session \(holder)") == true, "\(oldest?.holder ?? "none")")
        try await eventually("it grows old") { try await stack.database.facts().oldestSnapshot > 0.01 }
        let found = try await connection.transaction {
          try await OperationsExamination(schema: .standard, terms: DoctorTerms()).run(in: $0)
        }
        #expect(found.first { $0.name == "oldest snapshot" }?.detail.contains("session \(holder)") == true)
      }
      await connection.close()
    }
  }

  @Test("A server that cannot write to its disk")
  func disk() async throws {
    let server = try await PrivateRedis.withoutDisk()
    let found = try await redis(server.url)
    #expect(found["Redis"]?.status == .ok, "it can be read")
    #expect(found["Redis disk"]?.status == .fail)
    #expect(found["Redis disk"]?.detail.hasPrefix("the snapshot of ") == true)
    await server.kill9()
    #expect(try await redis(SharedServers.redis().url)["Redis disk"]?.status == .ok)
    let careless = try await PrivateRedis.withoutDisk(refuses: false)
    #expect(try await redis(careless.url)["Redis disk"]?.status == .ok, "it takes writes all the same")
    await careless.kill9()
  }

  @Test("A cluster with slots that nobody has")
  func cluster() async throws {
    let cluster = try await PrivateRedisCluster.start(masters: 3, replicasEach: 1)
    try await eventually("each master has its replica") {
      try await redis(cluster.url)["Redis replicas"]?.status == .ok
    }
    #expect(try await redis(cluster.url)["Redis slots"]?.status == .ok)
    // The replica first, so that none takes over.
    for index in [3, 0] { await cluster.nodes[index].kill9() }
    try await eventually("the slots are missed") {
      try await redis(cluster.url)["Redis slots"]?.status == .fail
    }
    await cluster.stop()
  }

  @Test("A replica that is in step, one that stands still, one that was promoted, one that is away")
  func replica() async throws {
    var options = PrivatePostgres.Options.tests
    options.port = 0
    let primary = try await PrivatePostgres.start(options: options)
    let standby = try await PrivatePostgres.standby(of: primary, options: options)
    let configurations = (
      try PostgresConfiguration(url: #require(primary.tcpURL())),
      try PostgresConfiguration(url: #require(standby.tcpURL()))
    )
    var terms = DoctorTerms()
    terms.replicaURL = "APP_REPLICA_URL"
    func look() async -> Finding? {
      await ReplicaExamination(
        primary: configurations.0, replica: configurations.1, terms: terms, loop: .tests, logger: .quiet
      ).run().first
    }
    try await eventually("the replica is in step") { await look()?.status == .ok }
    try await standby.run("SELECT pg_wal_replay_pause()")
    try await primary.run("CREATE TABLE t (n int)")
    let paused = await look()
    #expect(paused?.status == .warn && paused?.detail.contains("bytes of log behind") == true)
    try await standby.run("SELECT pg_wal_replay_resume()")
    try await standby.promote()
    #expect(await look()?.detail.contains("is not a replica") == true)
    await standby.stop()
    #expect(await look()?.advice?.contains("APP_REPLICA_URL") == true)
    await primary.stop()
  }
}
