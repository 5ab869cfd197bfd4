import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import Locking
import TestSupport
import Testing

/// An attempt counts when the job begins.
@Suite(.timeLimit(.minutes(5))) struct AttemptTests {
  private struct Once: Job {
    static let kind: JobKind = "test.once"
    static let retry = RetryPolicy(maxAttempts: 1)
    var number: Int
  }

  private let stage = Stage()

  /// Otherwise a worker could die in between, and the job would run again.
  @Test func aLastAttemptBeginsOnlyOnceTheBrokerKnowsOfIt() async throws {
    let failing = FailingBroker(stage.broker)
    let (begun, gate) = (Journal<Int>(), Gate())
    var registry = Stage.Registry()
    registry.register(Once.self) { job, _ in begun.note(job.number) }
    registry.register(Numbered.self) { job, _ in
      begun.note(job.number)
      gate.open()
    }
    failing.begins.start()
    let worker = Worker(
      broker: failing, ledger: stage.ledger, registry: registry, configuration: Stage.configuration(), logger: .quiet)
    try await RunningWorker.run(worker) { _ in
      try await stage.client.enqueue(Once(number: 1))
      try await eventually("the broker cannot be told") { failing.begins.count > 1 }
      // The first attempt of several waits for nothing.
      try await stage.client.enqueue(Numbered(number: 2))
      try await gate.wait()
      #expect(begun.entries == [2])
      failing.begins.stop()
      try await stage.settled()
    }
    #expect(begun.entries == [2, 1])
  }

  /// A worker that claimed many jobs and died had begun only a few: the others are unchanged.
  @Test func jobsThatNeverBeganAreNotBuried() async throws {
    try await stage.client.enqueue((0..<50).map { Once(number: $0) })
    let dead = await stage.broker.join(.default, worker: "dead", lease: .milliseconds(50))
    let claims = await dead.claim(50, wait: .zero)
    #expect(claims.count == 50)
    #expect(await dead.begin(Array(claims[..<2])).count == 2)
    let ran = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Once.self) { job, _ in ran.note(job.number) }
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(Set(ran.entries).count == 48 && ran.entries.count == 48)
    #expect(stage.ledger.dead.count == 2)
  }

  /// A job that kills its worker each time it begins is stopped after its attempts, however early the worker dies.
  @Test func aPoisonJobIsStopped() async throws {
    let id = try #require(try await stage.client.enqueue(Numbered(number: 1)))
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in Issue.record("it runs in none of these workers") }
    for death in 0...Numbered.retry.maxAttempts {
      let dying = await stage.broker.join(.default, worker: "dying\(death)", lease: .milliseconds(20))
      let claim = try await eventual("the job is there") { await dying.claim(1, wait: .zero).first }
      // A redelivered job is marked before it begins; the first time the worker dies too early for that.
      #expect(claim.isRedelivered == (death > 0))
      #expect(claim.attempt == max(1, death))
      if claim.isRedelivered { #expect(await dying.begin([claim]).count == 1) }
      let alive = await stage.broker.join(.default, worker: "alive\(death)", lease: .seconds(120))
      var reaped = 0
      try await eventually("the worker is declared dead") {
        reaped += await alive.heartbeat(listingHeld: false).reaped
        return reaped == 1
      }
      await alive.leave()
    }
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(stage.ledger.dead.map(\.record.id) == [id])
  }

  @Test func whatRunsForAWhileIsMarked() async throws {
    let gate = Gate()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in try await gate.wait() }
    try await stage.work(registry) { _ in
      try await stage.client.enqueue(Numbered(number: 1))
      try await eventually("the broker knows that it began") { await stage.broker.begunCount(in: .default) == 1 }
      gate.open()
      try await stage.settled()
      #expect(await stage.broker.begunCount(in: .default) == 0)
    }
  }
}
