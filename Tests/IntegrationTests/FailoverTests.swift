import DurableJobs
import DurableJobsPostgres
import Foundation
import HiredisClient
import LibPQClient
import PrivateServers
import ProgramTestSupport
import Social
import TestSupport
import Testing

/// A master or the primary is killed with SIGKILL while separate worker processes are under load, and another server
/// takes its place. Every job is done once; the delay is printed.
@Suite("A server that is replaced", .timeLimit(.minutes(5)), .serialized)
struct FailoverTests {
  /// Enqueues jobs continuously, recording the time of each in the ledger; `strike` comes in the middle.
  ///
  /// - Returns: the number of jobs enqueued.
  private func load(_ scene: Scene, strike: () async throws -> Void) async throws -> Int {
    try await scene.stack.pool.execute(
      "CREATE TABLE asked (number bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp())")
    _ = try await scene.startWorker(concurrency: 4)
    _ = try await scene.startWorker(concurrency: 4)
    try await scene.post()
    let demand = Demand()
    try await withThrowingTaskGroup(of: Void.self) { group in
      // Many, so that jobs are enqueued while a push waits for an unavailable Redis.
      for _ in 0..<12 {
        group.addTask {
          while let numbers = await demand.next() {
            try await scene.ask(numbers)
            try await Task.sleep(for: .milliseconds(100))
          }
        }
      }
      try await eventually("jobs are done") { try await scene.knownEffects() > 500 }
      try await strike()
      let before = await demand.count
      try await eventually("jobs are done again", within: .seconds(120)) {
        try await scene.knownEffects() > before + 500
      }
      await demand.end()
      try await group.waitForAll()
    }
    try await scene.post()
    return await demand.count
  }

  /// The jobs to enqueue, with consecutive numbers.
  private actor Demand {
    private(set) var count = 0
    private var isOver = false

    func next() -> Range<Int>? {
      if isOver { return nil }
      defer { count += 10 }
      return count..<count + 10
    }

    func end() { isOver = true }
  }

  private func report(_ what: String, _ scene: Scene, _ asked: Int) async throws {
    let row = try await scene.stack.pool.query(
      """
      SELECT max(extract(epoch FROM effects.at - asked.at))::float8,
        (SELECT max(extract(epoch FROM gap))::float8
          FROM (SELECT at - lag(at) OVER (ORDER BY at) AS gap FROM effects) AS gaps)
      FROM effects JOIN asked USING (number)
      """)[0]
    let (delay, gap) = try row.decode(Double.self, Double.self)
    print("\(what): \(asked) jobs, none later than \(delay) s; \(gap) s without a commit")
  }

  @Test("Redis: a master under sentinels is killed")
  func sentinel() async throws {
    let group = try await PrivateSentinels.start()
    try await Scene.play(redisURL: group.url) { scene in
      let asked = try await load(scene) { await group.servers[0].kill9() }
      try await scene.expectAllDoneOnce(asked)
      try await report("sentinel", scene, asked)
    }
    await group.stop()
  }

  @Test("Redis Cluster: one master after the other is killed, and comes back as a replica")
  func cluster() async throws {
    let cluster = try await PrivateRedisCluster.start()
    try await Scene.play(redisURL: cluster.url) { scene in
      let asked = try await load(scene) {
        for index in 0..<2 {
          await cluster.nodes[index].kill9()
          try await eventually("the cluster has a master for all") {
            try await scene.stack.redisClient.topology().masters.allSatisfy {
              $0.name != "127.0.0.1:\(cluster.nodes[index].port ?? 0)"
            }
          }
          try await cluster.nodes[index].start()
        }
      }
      try await scene.expectAllDoneOnce(asked)
      try await report("cluster", scene, asked)
    }
    await cluster.stop()
  }

  @Test("Postgres: the primary is killed and its standby promoted")
  func postgres() async throws {
    var options = PrivatePostgres.Options.tests
    options.port = 0
    // A commit returns only when the standby has it, so no committed job is lost.
    let primary = try await PrivatePostgres.start(options: options)
    let standby = try await PrivatePostgres.standby(of: primary, options: options)
    try await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
    try await primary.run("SELECT pg_reload_conf()")
    let hosts = [primary, standby].map { "127.0.0.1:\($0.port ?? 0)" }.joined(separator: ",")
    let url = "postgresql://postgres@\(hosts)/postgres?target_session_attrs=read-write"
    try await Scene.play(server: primary, postgresURL: url) { scene in
      let asked = try await load(scene) {
        await primary.kill9()
        try await standby.run("ALTER SYSTEM SET synchronous_standby_names = ''")
        try await standby.promote()
      }
      try await scene.expectAllDoneOnce(asked)
      try await report("postgres", scene, asked)
      #expect(try await scene.stack.count("SELECT inet_server_port()") == standby.port)
    }
    await standby.stop()
  }
}

extension Scene {
  /// Enqueues jobs whose effects are counted, with their times; retries until Postgres has them.
  fileprivate func ask(_ numbers: Range<Int>) async throws {
    let records = numbers.map { number in
      JobRecord(
        kind: "test.count-effect", queue: Self.effects, payload: Array(#"{"number":\#(number)}"#.utf8), isDurable: true)
    }
    while true {
      do {
        _ = try await stack.client.transaction { transaction in
          // If an earlier try took effect although its reply was lost, nothing is left to enqueue.
          let new = try await transaction.sql.execute(
            "INSERT INTO asked (number) SELECT unnest(\(Array(numbers))) ON CONFLICT DO NOTHING")
          if new > 0 { _ = try await transaction.add(records) }
        }
        return
      } catch let error as PostgresError where error.code != .server || error.sqlState == "25006" {
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  /// The number of effects, or 0 while Postgres does not answer.
  fileprivate func knownEffects() async throws -> Int {
    do {
      return try await effects()
    } catch let error as PostgresError where error.code != .server {
      return 0
    }
  }
}
