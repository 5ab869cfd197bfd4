import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import LibPQClient
import ProgramTestSupport
import SocialAdmin
import TestSupport
import Testing

/// Separate worker processes and an operator's commands to them.
@Suite("An operated worker", .timeLimit(.minutes(5)))
struct OperatedWorkerTests {
  private let actor = Operator(name: "tester")

  private func queues(_ scene: Scene) -> QueueAdmin {
    QueueAdmin(scene.stack.database, broker: scene.stack.broker, known: [Scene.effects])
  }

  private func jobs(_ scene: Scene) -> JobAdmin {
    JobAdmin(scene.stack.client, kinds: .app)
  }

  private func workers(_ scene: Scene) -> WorkerAdmin { WorkerAdmin(scene.stack.database) }

  /// Waits until every worker has reported again, and so has received its commands.
  private func heard(_ scene: Scene) async throws {
    for _ in 0..<2 {
      let before = try await workers(scene).list().map(\.seenAt)
      try await eventually("the workers report") {
        let now = try await workers(scene).list().map(\.seenAt)
        return zip(now, before).allSatisfy { $0 > $1 }
      }
    }
  }

  @Test("A worker is listed with what it serves and runs, and takes itself out when it leaves")
  func listed() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<6, gate: gate)
      let one = try await scene.startWorker(concurrency: 1)
      _ = try await scene.startWorker(concurrency: 1)
      try await eventually("both run a job") {
        try await workers(scene).list().filter { $0.running.count == 1 }.count == 2
      }
      let listed = try await workers(scene).list()
      let mine = try #require(listed.first { $0.pid == Int(one.program.pid) })
      #expect(mine.state == .running && mine.running.first?.kind == "test.count-effect")
      #expect(mine.queues.contains { $0.queue == "effects" && $0.concurrency == 1 && !$0.isPaused })
      #expect(try await queues(scene).list().first { $0.queue == "effects" }?.oldestRunning != nil)
      let id = try #require(mine.running.first?.id)
      let events = try await jobs(scene).show(id).timeline
      #expect(events.contains { $0.what == "running" && $0.detail?.contains(mine.name) == true })
      one.program.send(SIGTERM)
      try await eventually("it says that it stops") {
        try await workers(scene).list().first { $0.name == mine.name }?.state == .stopping
      }
      await gate.open()
      try await eventually("it has left") { try await workers(scene).list().count == 1 }
      try await eventually("all is done") { try await scene.pending() == 0 }
    }
  }

  @Test("A paused queue stands still, and goes on when it is resumed")
  func paused() async throws {
    try await Scene.play { scene in
      _ = try await scene.startWorker(concurrency: 2)
      try await scene.askForEffects(0..<10)
      try await eventually("it works") { try await scene.effects() == 10 }
      try await queues(scene).pause("effects", by: actor)
      try await heard(scene)
      try await scene.askForEffects(10..<30)
      try await heard(scene)
      #expect(try await scene.effects() == 10)
      let paused = try #require(try await queues(scene).list().first { $0.queue == "effects" })
      #expect(paused.isPaused && paused.ready == 20 && paused.pending == 20 && paused.workers == 1)
      #expect(try #require(paused.oldestWaiting) >= 0)
      // Other queues continue meanwhile.
      try await scene.post()
      try await queues(scene).resume("effects", by: actor)
      try await scene.expectAllDoneOnce(30)
      #expect(
        try await ActionLog(scene.stack.database).page(subject: "effects").items.map(\.action)
          == ["queues.resume", "queues.pause"])
    }
  }

  @Test("A quiet worker takes nothing more; another does the work")
  func quiet() async throws {
    try await Scene.play { scene in
      _ = try await scene.startWorker(concurrency: 2)
      try await eventually("it is listed") { try await workers(scene).list().count == 1 }
      let name = try await workers(scene).list()[0].name
      #expect(try await workers(scene).quiet(name, by: actor) == [name])
      try await eventually("it is quiet") { try await workers(scene).list().first?.state == .quiet }
      try await scene.askForEffects(0..<10)
      try await heard(scene)
      #expect(try await scene.effects() == 0)
      _ = try await scene.startWorker(concurrency: 2)
      try await eventually("the other does it") { try await scene.effects() == 10 }
      #expect(try await workers(scene).list().first { $0.name == name }?.state == .quiet)
    }
  }

  @Test("A worker that is asked to stop finishes what it runs, hands back the rest and ends with status 0")
  func stopped() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<1, gate: gate)
      try await scene.askForEffects(1..<20)
      let worker = try await scene.startWorker(concurrency: 1, claimsAhead: true)
      try await eventually("its one job runs") { try await scene.waiting(at: gate) == 1 }
      try await eventually("more is claimed") { try await scene.claimed() > 1 }
      #expect(try await workers(scene).stop(nil, by: actor).count == 1)
      try await eventually("it stops") { try await workers(scene).list().first?.state == .stopping }
      try await eventually("the rest is handed back") { try await scene.claimed() == 1 }
      await gate.open()
      #expect(await worker.program.outcome().status == 0)
      #expect(try await workers(scene).list().isEmpty)
      #expect(try await scene.effects() == 1)
      _ = try await scene.startWorker()
      try await eventually("the rest is done") { try await scene.effects() == 20 }
    }
  }

  @Test("A job that is cancelled in the middle of its transaction leaves no effect, and its worker goes on")
  func cancelled() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<1, gate: gate)
      _ = try await scene.startWorker(concurrency: 1)
      try await eventually("it is in its transaction") { try await scene.waiting(at: gate) == 1 }
      let id = try await scene.stack.pool.query("SELECT id FROM jobs").decode(PostgresUUID.self)
        .map { JobID($0).description }[0]
      let job = try await jobs(scene).cancel(id, by: actor, patience: .seconds(60))
      #expect(job.state == .cancelled)
      try await scene.askForEffects(1..<10)
      try await eventually("the worker goes on") { try await scene.pending() == 0 }
      #expect(
        try await scene.stack.pool.query("SELECT number FROM effects ORDER BY 1").decode(Int.self) == Array(1..<10))
      #expect(try await scene.stack.count("SELECT count(*) FROM dead_jobs") == 0)
      #expect(try await scene.stack.count("SELECT count(*) FROM job_cancellations") == 0)
      let events = try await jobs(scene).show(id).timeline.map(\.what)
      #expect(events.contains("jobs.cancel") && events.last == "cancelled")
      try await eventually("the broker has forgotten it") { try await scene.claimed() == 0 }
    }
  }

  @Test("A worker that is killed counts as lost, and nothing is asked of it any more")
  func lost() async throws {
    try await Scene.play { scene in
      let worker = try await scene.startWorker()
      try await eventually("it is listed") { try await workers(scene).list().count == 1 }
      worker.kill()
      _ = await worker.program.outcome()
      // Ten seconds pass at once.
      try await scene.stack.pool.execute("UPDATE workers SET seen_at = seen_at - interval '11 seconds'")
      let lost = try #require(try await workers(scene).list().first)
      #expect(lost.state == .lost)
      let refused = await #expect(throws: OperationError.self) { try await workers(scene).stop(lost.name, by: actor) }
      #expect(refused?.code == .notFound)
      #expect(try await workers(scene).stop(nil, by: actor).isEmpty)
    }
  }

  @Test("What was done is counted by the minute")
  func counted() async throws {
    try await Scene.play { scene in
      _ = try await scene.startWorker()
      try await scene.askForEffects(0..<25)
      try await eventually("jobs counted", is: 25) {
        try await Statistics(scene.stack.database).totals(.hour, queue: "effects").completed
      }
      let kinds = try await Statistics(scene.stack.database).kinds(.hour).filter { $0.queue == "effects" }
      #expect(kinds.map(\.kind) == ["test.count-effect"] && kinds.allSatisfy { ($0.totals.meanRun ?? 0) > 0 })
      let series = try await Statistics(scene.stack.database).series(.day, kind: "test.count-effect")
      #expect(series.reduce(0) { $0 + $1.completed } == 25 && series.count == 96)
    }
  }
}
