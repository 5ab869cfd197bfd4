import DurableJobs
import DurableJobsTesting
import Foundation
import Instrumentation
import Locking
import Logging
import TestSupport
import Testing
import Tracing

@testable import OTLPTracing

/// Requests, enqueues and attempts as one trace. The tracer is the process's, so these tests run one by one.
@Suite(.timeLimit(.minutes(2)), .serialized) struct JobTracingTests {
  private struct Order: Job {
    static let kind: JobKind = "test.order"
    var number: Int
  }

  private struct Receipt: Job {
    static let kind: JobKind = "test.receipt"
  }

  private struct Declined: Error {}

  /// Keeps the bodies of all requests.
  private final class Collector: SpanExporter {
    let bodies = Locked<[[UInt8]]>([])
    func export(_ body: [UInt8]) async throws { bodies.withLock { $0.append(body) } }
  }

  private static let collector = Collector()
  private static let tracer: OTLPTracer = {
    var configuration = OTLPTracer.Configuration(service: "shop", version: "1")
    configuration.interval = .milliseconds(5)
    let tracer = OTLPTracer(
      configuration, exporter: collector, logger: Logger(label: "t") { _ in SwiftLogNoOpLogHandler() })
    InstrumentationSystem.bootstrap(tracer)
    return tracer
  }()

  private struct Span {
    var trace, span, name: String
    var parent: String?
    var isError: Bool
    var links: Int
  }

  /// The spans of a trace once there are so many, by name.
  private static func spans(of trace: TraceID, count: Int) async throws -> [String: Span] {
    let found = Locked<[Span]>([])
    try await eventually("\(count) spans are sent") {
      let spans = try collector.bodies.withLock { $0 }.flatMap { try Self.spans(in: $0) }
      found.withLock { $0 = spans.filter { $0.trace == "\(trace)" } }
      return found.withLock { $0.count } == count
    }
    return Dictionary(found.withLock { $0 }.map { ($0.name, $0) }) { $1 }
  }

  private static func spans(in body: [UInt8]) throws -> [Span] {
    let request = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
    let resources = request?["resourceSpans"] as? [[String: Any]] ?? []
    let scopes = resources.flatMap { $0["scopeSpans"] as? [[String: Any]] ?? [] }
    return scopes.flatMap { $0["spans"] as? [[String: Any]] ?? [] }.map { span in
      Span(
        trace: span["traceId"] as? String ?? "", span: span["spanId"] as? String ?? "",
        name: span["name"] as? String ?? "", parent: span["parentSpanId"] as? String,
        isError: (span["events"] as? [[String: Any]])?.isEmpty == false,
        links: (span["links"] as? [Any])?.count ?? 0)
    }
  }

  private static func run(_ body: @Sendable () async throws -> Void) async throws {
    let tracer = tracer
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await tracer.run() }
      try await body()
      group.cancelAll()
    }
  }

  @Test func requestEnqueueAndRunAreOneParentedTrace() async throws {
    try await Self.run {
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Order.self) { _, context in
        try await context.transaction { try await $0.enqueue(Receipt()) }
      }
      registry.register(Receipt.self) { _, context in if context.attempt == 1 { throw Declined() } }
      let queue = TestQueue(registry, middleware: [JobTracing()])
      let trace = try await Self.tracer.withSpan("request", context: .topLevel, ofKind: .server) { span in
        try await queue.client.enqueue(Order(number: 1))
        return try #require(span.context.traceContext).id
      }
      try await queue.drain(upTo: .days(1))
      let spans = try await Self.spans(of: trace, count: 6)
      func parent(_ name: String) -> String? { spans[name]?.parent }
      #expect(spans["request"]?.parent == nil)
      #expect(parent("enqueue test.order") == spans["request"]?.span)
      #expect(parent("run test.order") == spans["enqueue test.order"]?.span)
      #expect(parent("enqueue test.receipt") == spans["run test.order"]?.span)
      // Twice, and the first time in vain.
      #expect(parent("run test.receipt") == spans["enqueue test.receipt"]?.span)
    }
  }

  @Test func aBatchOfSeveralTracesLinksToEach() async throws {
    try await Self.run {
      let own = Locked<TraceID?>(nil)
      var registry = JobRegistry<InMemoryLedger>()
      registry.registerBatch(Order.self, upTo: 10) { jobs, _ in
        if jobs.count > 1 { own.withLock { $0 = TraceContext.current?.id } }
      }
      let queue = TestQueue(registry, middleware: [JobTracing()])
      // As many as it takes for two to be claimed at once.
      try await eventually("two run together") {
        for number in 0..<20 {
          try await TraceContext.begin().run { _ = try await queue.client.enqueue(Order(number: number)) }
        }
        try await queue.drain()
        return own.withLock { $0 } != nil
      }
      let trace = try #require(own.withLock { $0 })
      let spans = try await Self.spans(of: trace, count: 1)
      #expect((spans["run test.order"]?.links ?? 0) > 1 && spans["run test.order"]?.parent == nil)
    }
  }

  @Test func jobsOutsideOfAnyTraceBeginOneUpToTheLimit() async throws {
    try await Self.run {
      for limit in [0, 1000] {
        let traced = Locked(0)
        var registry = JobRegistry<InMemoryLedger>()
        registry.register(Order.self) { _, _ in
          if TraceContext.current != nil { traced.withLock { $0 += 1 } }
        }
        let queue = TestQueue(registry, middleware: [JobTracing(newTracesPerSecond: limit)])
        for number in 0..<10 { _ = try await queue.client.enqueue(Order(number: number)) }
        try await queue.drain()
        #expect(traced.withLock { $0 } == min(10, limit), "limit \(limit)")
      }
    }
  }

  @Test func anUnsampledTraceStaysSilentAndWhole() async throws {
    try await Self.run {
      let seen = Locked<TraceContext?>(nil)
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Order.self) { _, _ in seen.withLock { $0 = .current } }
      let queue = TestQueue(registry, middleware: [JobTracing()])
      let caller = TraceContext(id: .random(), span: 7, isSampled: false)
      try await caller.run { _ = try await queue.client.enqueue(Order(number: 1)) }
      try await queue.drain()
      #expect(seen.withLock { $0?.id } == caller.id && seen.withLock { $0?.isSampled } == false)
    }
  }
}
