import Jobs
import JobsTestSupport
import ProgramTestSupport
import Postgres
import Testing

/// A worker stands still (SIGSTOP) until its lease is over and others have its jobs, and is woken then.
@Suite("A frozen worker", .timeLimit(.minutes(5)))
struct FrozenWorkerTests {
  @Test("Woken when others have its jobs, it neither undoes nor doubles anything")
  func frozen() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<1, gate: gate)
      try await scene.askForEffects(1..<30)
      let sleeper = try await scene.startWorker(slots: 1)
      try await eventually("one job is in its transaction") { try await scene.waiting(at: gate) == 1 }
      try await eventually("others are claimed and not begun") { try await scene.claimed() > 1 }
      sleeper.freeze()
      try await scene.post()
      _ = try await scene.startWorker()
      // The second delivery of the job in the open transaction waits for the row that the first has deleted.
      try await eventually("all other jobs are done by the second worker") { try await scene.effects() == 29 }
      try await eventually("the frozen one's job was handed on") {
        try await scene.stack.count(
          """
          SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%DELETE FROM jobs%'
            AND datname = current_database() AND pid <> pg_backend_pid()
          """) > 0
      }
      await gate.open()
      sleeper.wake()
      try await scene.expectAllDoneOnce(30)
    }
  }
}
