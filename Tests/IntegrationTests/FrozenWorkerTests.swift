import DurableJobs
import DurableJobsRedis
import LibPQClient
import Logging
import ProgramTestSupport
import TestSupport
import Testing

/// A worker is frozen (SIGSTOP) until its lease has expired and others have its jobs, and then resumed.
@Suite("A frozen worker", .timeLimit(.minutes(5)))
struct FrozenWorkerTests {
  @Test("Frozen in a transaction, it delays that job alone, and not beyond its lease's end; woken, it changes nothing")
  func frozen() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<1, gate: gate)
      try await scene.askForEffects(1..<30)
      let sleeper = try await scene.startWorker(concurrency: 1, claimsAhead: true)
      try await eventually("one job is in its transaction") { try await scene.waiting(at: gate) == 1 }
      try await eventually("others are claimed and not begun") { try await scene.claimed() > 1 }
      let session = try await scene.sessions(waitingAt: gate)
      #expect(session.count == 1)
      sleeper.freeze()
      try await scene.post()
      _ = try await scene.startWorker()
      try await eventually("all other jobs are done by the second worker") { try await scene.effects() == 29 }
      try await eventually("the frozen one's session is ended, and the second worker has the job") {
        let now = try await scene.sessions(waitingAt: gate)
        return now.count == 1 && now != session
      }
      await gate.open()
      try await eventually("the job is done while the first worker still sleeps") { try await scene.effects() == 30 }
      sleeper.wake()
      try await scene.expectAllDoneOnce(30)
    }
  }

  @Test("A job whose row a session holds by hand waits for it; no other does, and no attempt is counted")
  func heldByHand() async throws {
    try await Scene.play { scene in
      try await scene.askForEffects(0..<30)
      let connection = try await PostgresConnection.connect(
        try PostgresConfiguration(url: scene.stack.postgresURL), loop: .tests, logger: .quiet)
      try await connection.execute("BEGIN")
      #expect(
        try await connection.query(
          "SELECT id FROM jobs WHERE payload LIKE '%\"number\":7}' AND queue = 'effects' FOR UPDATE"
        ).count == 1)
      _ = try await scene.startWorker()
      try await scene.post()
      try await eventually("all others are done") {
        let (effects, pending) = try await (scene.effects(), scene.pending())
        return effects == 29 && pending == 1
      }
      let before = try await scene.stack.broker.depth(of: Scene.effects)
      #expect(before.ready + before.claimed + before.delayed == 1)
      try await connection.execute("ROLLBACK")
      await connection.close()
      try await scene.expectAllDoneOnce(30)
      #expect(try await scene.stack.count("SELECT count(*) FROM ended_jobs") == 0, "it never failed")
    }
  }
}
