import DurableJobs
import DurableJobsRedis
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

/// A worker joins others that are busy, or leaves them.
@Suite("A worker that joins or leaves", .timeLimit(.minutes(5)))
struct JoiningWorkerTests {
  @Test("One that joins takes its share within a second")
  func joins() async throws {
    try await Scene.play { scene in
      try await scene.slowEffects(milliseconds: 20)
      try await scene.askForEffects(0..<2000)
      _ = try await scene.startWorker("first")
      try await eventually("the first works") { try await scene.effects(of: "first") > 40 }
      _ = try await scene.startWorker("second")
      // Redis has its lease, so it has joined.
      try await scene.stack.pool.execute("CREATE TABLE joined AS SELECT clock_timestamp() AS at")
      try await scene.post()
      try await scene.expectAllDoneOnce(2000)
      let delay = try await scene.stack.count(
        """
        SELECT greatest(0, round(1000 * extract(epoch FROM min(effects.at) - min(joined.at))))::bigint
        FROM effects, joined WHERE worker = 'second'
        """)
      #expect(delay <= 1000, "its first job took \(delay) ms")
      // From a second after it joined until the queue was empty: each worker makes half of the effects.
      let (both, its) = try await scene.stack.pool.query(
        """
        SELECT count(*), count(*) FILTER (WHERE worker = 'second') FROM effects, joined
        WHERE effects.at BETWEEN joined.at + interval '1 s'
          AND (SELECT least(max(e.at) FILTER (WHERE worker = 'first'), max(e.at) FILTER (WHERE worker = 'second'))
            FROM effects e)
        """)[0].decode(Int.self, Int.self)
      #expect(both > 200, "the test has something to look at: \(both)")
      #expect(Double(its) / Double(both) > 0.4 && Double(its) / Double(both) < 0.6, "\(its) of \(both)")
      print("a worker that joined began after \(delay) ms and did \(its) of the \(both) jobs from the next second on")
    }
  }

  @Test("One that leaves gives back at once what it holds and has not begun, while it finishes what it has")
  func leaves() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<2, gate: gate)
      let leaving = try await scene.startWorker("leaving", concurrency: 2, claimsAhead: true)
      try await eventually("it runs two") { try await scene.waiting(at: gate) == 2 }
      // Its other claims: the waiting claim takes them although it runs at full concurrency.
      try await scene.askForEffects(2..<40)
      try await eventually("it holds more than runs") { try await scene.claimed() > 2 }
      leaving.stop()
      try await eventually("it holds what runs and nothing more") {
        let left = try await scene.stack.broker.depth(of: Scene.effects)
        return left.claimed == 2 && left.ready == 38
      }
      _ = try await scene.startWorker("staying")
      try await eventually("another does what it gave back") { try await scene.effects(of: "staying") == 38 }
      #expect(try await scene.waiting(at: gate) == 2)
      await gate.open()
      let end = await leaving.program.outcome()
      #expect(end.status == 0, "\(end.errors)")
      #expect(try await scene.effects(of: "leaving") == 2, "what ran was finished where it ran")
      try await scene.post()
      try await scene.expectAllDoneOnce(40)
    }
  }
}
