import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

/// Several workers fire a schedule together, and the leader is lost.
@Suite("The scheduler of several workers", .timeLimit(.minutes(5)))
struct SchedulerTests {
  /// Milliseconds between ticks.
  private static let interval = 200

  @Test("The leader is killed, and the next one too: others go on, no tick is left out, none fires twice")
  func killed() async throws {
    try await Scene.play { scene in
      var workers = [try await scene.startWorker(tickEvery: Self.interval)]
      try await ticksGoOn(in: scene)
      // The first one leads, since the others started after it led.
      for _ in 0..<2 { workers.append(try await scene.startWorker(tickEvery: Self.interval)) }
      for worker in workers.dropLast() {
        worker.kill()
        try await ticksGoOn(in: scene)
      }
      try await expectEachTickOnce(in: scene)
    }
  }

  @Test("The leader stands still: another goes on, and woken it fires nothing again")
  func frozen() async throws {
    try await Scene.play { scene in
      let leader = try await scene.startWorker(tickEvery: Self.interval)
      try await ticksGoOn(in: scene)
      _ = try await scene.startWorker(tickEvery: Self.interval)
      leader.freeze()
      try await ticksGoOn(in: scene)
      leader.wake()
      try await ticksGoOn(in: scene)
      try await expectEachTickOnce(in: scene)
    }
  }

  @Test("Ticks of a time in which no worker ran are made up for")
  func noWorker() async throws {
    try await Scene.play { scene in
      let first = try await scene.startWorker(tickEvery: Self.interval)
      try await ticksGoOn(in: scene)
      first.kill()
      try await eventually("what it had begun has ended") {
        try await scene.stack.count(
          "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'test-worker'"
        )
          == 0
      }
      // As if no worker had led for longer than a tick may be late.
      try await scene.stack.pool.execute("UPDATE schedules SET decided_until = decided_until - interval '30 s'")
      try await scene.stack.pool.execute("DELETE FROM schedule_ticks")
      try await scene.stack.pool.execute("DELETE FROM jobs")
      try await scene.stack.pool.execute("DELETE FROM effects")
      _ = try await scene.startWorker(tickEvery: Self.interval)
      try await ticksGoOn(in: scene)
      let span = try await scene.stack.count(
        "SELECT (extract(epoch FROM max(tick) - min(tick)) * 1000)::bigint FROM schedule_ticks")
      #expect(span >= 30_000 - Self.interval)
      try await expectEachTickOnce(in: scene)
    }
  }

  /// Waits for new ticks.
  private func ticksGoOn(in scene: Scene) async throws {
    let latest = try await scene.stack.count(
      "SELECT coalesce((extract(epoch FROM max(tick)) * 1000)::bigint, 0) FROM schedule_ticks")
    try await eventually("ticks go on") {
      try await scene.stack.count(
        "SELECT count(*) FROM schedule_ticks WHERE tick > to_timestamp(\(latest) / 1000.0)") >= 5
    }
  }

  /// Pauses the schedule, and compares the fired ticks and their effects with the expected ticks.
  private func expectEachTickOnce(in scene: Scene, location: SourceLocation = #_sourceLocation) async throws {
    try await scene.stack.pool.execute("UPDATE schedules SET paused = true")
    try await eventually("all jobs are done") { try await scene.pending() == 0 }
    let fired = try await scene.stack.pool.query(
      "SELECT (extract(epoch FROM tick) * 1000)::bigint FROM schedule_ticks ORDER BY tick"
    ).decode(Int.self)
    let first = try #require(fired.first)
    #expect(first % Self.interval == 0, sourceLocation: location)
    #expect(
      fired == fired.indices.map { first + $0 * Self.interval }, "every tick fired", sourceLocation: location)
    let done = try await scene.stack.pool.query("SELECT number FROM effects ORDER BY number").decode(Int.self)
    #expect(done == fired, "each was done once", sourceLocation: location)
    #expect(try await scene.stack.count("SELECT count(*) FROM dead_jobs") == 0, sourceLocation: location)
  }
}
