import TestSupport
import Testing

/// A worker is killed with -9 at each stage of a job.
@Suite("A killed worker", .timeLimit(.minutes(5)))
struct KilledWorkerTests {
  @Test("Claimed and not begun: others get the jobs, and nothing is doubled")
  func claimed() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      // One at a time, and it is running: further claims wait in the worker's memory.
      try await scene.askForEffects(0..<1, gate: gate)
      try await scene.askForEffects(1..<40)
      let worker = try await scene.startWorker(concurrency: 1, claimsAhead: true)
      try await eventually("its one job runs") { try await scene.waiting(at: gate) == 1 }
      try await eventually("more is claimed") { try await scene.claimed() > 1 }
      #expect(try await scene.effects() == 0)
      worker.kill()
      await gate.open()
      _ = try await scene.startWorker()
      try await scene.post()
      try await scene.expectAllDoneOnce(40)
    }
  }

  @Test("In the middle of the transaction: what it wrote is undone and done again")
  func inTransaction() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<20, gate: gate)
      let worker = try await scene.startWorker(concurrency: 4)
      try await scene.post()
      // Each has deleted its job's row and written its effect, but not committed.
      try await eventually("all four are in a transaction") { try await scene.waiting(at: gate) == 4 }
      worker.kill()
      await gate.open()
      _ = try await scene.startWorker()
      try await scene.expectAllDoneOnce(20)
    }
  }

  @Test("Committed and not acknowledged: the second delivery changes nothing")
  func unacknowledged() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      let worker = try await scene.startWorker(concurrency: 4, acknowledgeGate: gate)
      try await scene.askForEffects(0..<20)
      try await scene.post()
      try await eventually("effects are committed") { try await scene.effects() > 0 }
      try await eventually("an acknowledgement is held up") { try await scene.waiting(at: gate) > 0 }
      #expect(try await scene.claimed() > 0)
      worker.kill()
      await gate.open()
      _ = try await scene.startWorker()
      try await scene.expectAllDoneOnce(20)
    }
  }

  @Test("Killed again and again while it works: all is done once")
  func repeatedly() async throws {
    try await Scene.play { scene in
      try await scene.askForEffects(0..<300)
      try await scene.post(rounds: 3)
      let survivor = try await scene.startWorker(concurrency: 2)
      for _ in 0..<3 {
        let victim = try await scene.startWorker(concurrency: 2)
        victim.kill()
      }
      _ = survivor
      try await scene.expectAllDoneOnce(300)
    }
  }
}
