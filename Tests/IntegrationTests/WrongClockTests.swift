import DurableJobs
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

/// Workers on machines whose clocks are wrong.
@Suite("A worker whose clock is wrong", .timeLimit(.minutes(5)))
struct WrongClockTests {
  @Test(
    "An hour ahead or behind, it does its jobs, fires each tick in time, and says that its clock is off",
    arguments: [3600, -3600])
  func wrong(seconds: Int) async throws {
    try await Scene.play { scene in
      _ = try await scene.startWorker("wrong", tickEvery: 200, clockAhead: seconds)
      try await eventually("ticks fire") { try await scene.stack.count("SELECT count(*) FROM schedule_ticks") > 10 }
      // Fired by Postgres' clock: each within seconds of its time.
      #expect(
        try await scene.stack.count(
          "SELECT count(*) FROM schedule_ticks WHERE abs(extract(epoch FROM fired_at - tick)) > 15") == 0)
      try await eventually("the jobs of the ticks are done") {
        try await scene.stack.count("SELECT count(*) FROM effects WHERE worker = 'wrong'") > 10
      }
      let beside = try await scene.stack.pool.query("SELECT program, ahead_ms FROM process_clocks")
        .decode(String.self, Int64.self)
      #expect(beside.count == 1)
      #expect(beside.first.map { abs($0.1 / 1000 - Int64(seconds)) <= 1 } == true, "\(beside)")
      // A worker with a correct clock takes over and continues, without a gap and without an hour's silence.
      _ = try await scene.startWorker("right", tickEvery: 200)
      let fired = try await scene.stack.count("SELECT count(*) FROM schedule_ticks")
      try await eventually("ticks go on") {
        try await scene.stack.count("SELECT count(*) FROM schedule_ticks") > fired + 10
      }
      #expect(
        try await scene.stack.count("SELECT count(*) FROM schedules WHERE decided_until > now() + interval '2 s'") == 0)
    }
  }

  @Test("A schedule that a clock a day ahead has decided on fires again at its next tick")
  func decided() async throws {
    try await Scene.play { scene in
      let first = try await scene.startWorker(tickEvery: 200)
      try await eventually("ticks fire") { try await scene.stack.count("SELECT count(*) FROM schedule_ticks") > 3 }
      first.kill()
      try await scene.stack.pool.execute(
        "UPDATE schedules SET decided_until = decided_until + interval '1 day', last_tick = last_tick + interval '1 day'"
      )
      let fired = try await scene.stack.count("SELECT count(*) FROM schedule_ticks")
      _ = try await scene.startWorker(tickEvery: 200)
      try await eventually("ticks go on", within: .seconds(30)) {
        try await scene.stack.count("SELECT count(*) FROM schedule_ticks") > fired + 3
      }
    }
  }
}
