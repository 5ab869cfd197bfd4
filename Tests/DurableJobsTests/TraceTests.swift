import DurableJobsTesting
import Instrumentation
import JobsTestSupport
import Locking
import Logging
import TestSupport
import Testing

@_spi(Testing) @testable import DurableJobs

@Suite struct TraceTests {
  private static let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test func aHeaderIsReadAndWritten() throws {
    let trace = try #require(TraceContext(traceparent: Self.header))
    #expect(trace.id.description == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(trace.span == 0x00f0_67aa_0ba9_02b7)
    #expect(trace.isSampled)
    #expect(trace.traceparent == Self.header)
    // A later version may append fields after these.
    let later = "cc" + Self.header.dropFirst(2) + "-what-comes"
    #expect(TraceContext(traceparent: later) == trace)
    #expect(TraceContext(traceparent: Self.header.dropLast() + "2")?.isSampled == false)
  }

  @Test(arguments: [
    "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", header + "-more", header + "0",
    "ff" + header.dropFirst(2), "0x" + header.dropFirst(2), header.replacing("4bf9", with: "4BF9"),
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    header.replacing("-", with: "_"), header.replacing("4bf9", with: "4bf\n"), header.replacing("4b", with: "ß"),
  ])
  func anotherHeaderBeginsATraceOfItsOwn(header: String) throws {
    #expect(TraceContext(traceparent: header) == nil)
    let begun = TraceContext.begin(following: header)
    #expect(begun.id != TraceContext.begin(following: header).id)
    #expect(TraceContext(traceparent: begun.traceparent) == begun)
  }

  @Test func aRequestIsAStepOfItsOwnInTheCallersTrace() throws {
    let caller = try #require(TraceContext(traceparent: Self.header))
    let step = TraceContext.begin(following: Self.header)
    #expect(step.id == caller.id)
    #expect(step.span != caller.span)
  }

  @Test func anIdIsItsDigits() {
    for _ in 0..<100 {
      let id = TraceID.random()
      #expect(id.description.utf8.count == 32)
      #expect(TraceID(id.description) == id)
    }
    #expect(TraceID(String(repeating: "0", count: 32)) == nil)
    #expect(TraceID(String(repeating: "a", count: 31)) == nil)
    #expect(TraceID(String(repeating: "A", count: 32)) == nil)
  }

  // MARK: Jobs

  private struct Ask: Job {
    static let kind: JobKind = "ask"
    var children: Int
  }

  private struct Child: Job {
    static let kind: JobKind = "child"
  }

  @Test func aJobTakesTheTraceOfWhoAsksForIt() async throws {
    let trace = TraceContext.begin()
    #expect(try JobRecord(Child(), isDurable: true).trace == nil)
    let records = try await trace.run {
      #expect(TraceContext.current == trace)
      return try JobRecord.records([Child(), Child()], options: JobOptions(), isDurable: true)
        + [JobRecord(Child(), isDurable: false)]
    }
    #expect(records.map(\.trace) == [trace, trace, trace])
    #expect(TraceContext.current == nil)
  }

  @Test func theTaskCarriesWhatOthersPutThereToo() async {
    enum Other: InstrumentationContextKey { typealias Value = Int }
    var context = InstrumentationContext.topLevel
    context[Other.self] = 7
    await InstrumentationContext.withValue(context) {
      await TraceContext.begin().run { #expect(InstrumentationContext.current?[Other.self] == 7) }
    }
  }

  @Test func whatAHandlerAsksForInheritsItsTrace() async throws {
    let seen = Locked<[JobKind: [TraceID?]]>([:])
    let logged = Locked<[Logger.Metadata]>([])
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Ask.self) { job, context in
      seen.withLock { $0[context.kind, default: []].append(context.trace) }
      #expect(TraceContext.current?.id == context.trace)
      try await context.transaction { try await $0.enqueue((0..<job.children).map { _ in Child() }) }
    }
    registry.register(Child.self) { _, context in
      seen.withLock { $0[context.kind, default: []].append(context.trace) }
      let metadata = context.logger.handler.metadata
      logged.withLock { $0.append(metadata) }
    }
    let (broker, ledger) = (InMemoryBroker(), InMemoryLedger())
    let client = JobClient(broker: broker, ledger: ledger, logger: .quiet)
    let trace = TraceContext.begin()
    try await trace.run { _ = try await client.enqueue(Ask(children: 3)) }
    let worker = Worker(
      broker: broker, ledger: ledger, registry: registry, configuration: WorkerConfiguration(queues: [.default: 2]),
      logger: Logger(label: "trace") { _ in StreamLogHandler.standardError(label: "trace") })
    try await RunningWorker.run(worker) { _ in
      try await eventually("all are done") { ledger.pendingCount == 0 && seen.withLock { $0["child"]?.count == 3 } }
    }
    #expect(seen.withLock { $0 } == ["ask": [trace.id], "child": [trace.id, trace.id, trace.id]])
    for line in logged.withLock({ $0 }) {
      #expect(line["trace_id"] == "\(trace.id)" && line["kind"] == "child" && line["attempt"] == "1")
      #expect(line["job_id"].flatMap { JobID("\($0)") } != nil, "a line without its job's id is nobody's")
    }
  }

  private struct Part: Job {
    static let kind: JobKind = "part"
  }

  /// Runs two jobs as one batch and returns the traces of the jobs that the batch enqueued.
  private func tracesOfChildren(
    _ one: TraceContext, _ other: TraceContext, _ register: (inout JobRegistry<InMemoryLedger>) -> Void
  ) async throws -> [TraceID?] {
    let (broker, ledger) = (InMemoryBroker(), InMemoryLedger())
    let client = JobClient(broker: broker, ledger: ledger, logger: .quiet)
    var registry = JobRegistry<InMemoryLedger>()
    register(&registry)
    for trace in [one, other] { try await trace.run { _ = try await client.enqueue(Part()) } }
    var configuration = WorkerConfiguration(queues: [.default: 1])
    // So that both are claimed at once.
    configuration.assumedJobTime = .milliseconds(1)
    let worker = Worker(
      broker: broker, ledger: ledger, registry: registry, configuration: configuration, logger: .quiet)
    return try await RunningWorker.run(worker) { _ in
      try await eventually("the batch is done") { ledger.pendingCount(in: "children") == 1 }
      let ids = ledger.pendingIDs(queue: "children", after: nil, before: JobID(high: .max, low: 0), limit: 10)
      return ledger.records(ids, queue: "children").map(\.trace?.id)
    }
  }

  @Test(arguments: [true, false])
  func aBatchIsInTheTraceThatAllOfItsJobsShare(isOpen: Bool) async throws {
    let children = JobOptions(queue: "children")
    let register = { @Sendable (registry: inout JobRegistry<InMemoryLedger>) in
      if isOpen {
        registry.registerBatch(Part.self, upTo: 2) { batch in
          try await batch.transaction(ending: batch.jobs) { try await $1.enqueue(Child(), options: children) }
        }
      } else {
        registry.registerBatch(Part.self, upTo: 2) { try await $1.enqueue(Child(), options: children) }
      }
    }
    let (one, other) = (TraceContext.begin(), TraceContext.begin())
    #expect(try await tracesOfChildren(one, one, register) == [one.id])
    // There is no way to tell which of the two it follows from.
    #expect(try await tracesOfChildren(one, other, register) == [nil])
  }

  @Test func aJobWithoutATraceRunsInNone() async throws {
    let record = JobRecord.test("{}", isDurable: false)
    await record.inTrace { #expect(InstrumentationContext.current == nil) }
  }
}
