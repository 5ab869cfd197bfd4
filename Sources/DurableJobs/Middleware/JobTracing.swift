import Instrumentation
import Locking
import Tracing

/// Creates spans around enqueues and attempts with the tracer of swift-distributed-tracing's `InstrumentationSystem`;
/// with the request's span they form one trace. Does nothing without a tracer.
///
/// Jobs of an unsampled trace get no spans. Enqueues and attempts outside of any trace begin new ones, up to a limit a
/// second, so that a queue of a million untraced jobs drains as fast as without tracing.
public struct JobTracing: JobMiddleware {
  private let newTraces: NewTraces

  /// - Parameter newTracesPerSecond: how many traces begin here at most; traces that began elsewhere do not count.
  public init(newTracesPerSecond: Int = 100) { newTraces = NewTraces(perSecond: newTracesPerSecond) }

  public var hooks: JobHooks { [.enqueue, .run] }

  public func enqueue(_ jobs: [JobRecord], next: ([JobRecord]) async throws -> [JobID]) async throws -> [JobID] {
    guard let first = jobs.first, isTraced(InstrumentationContext.current) else { return try await next(jobs) }
    return try await withSpan("enqueue \(first.kind)", ofKind: .producer) { span in
      describe(span, "enqueue", first, jobs.count)
      guard let context = TraceContext.injected(from: span.context) else { return try await next(jobs) }
      var traced = jobs
      for index in traced.indices { traced[index].trace = context }
      return try await next(traced)
    }
  }

  public func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws {
    guard let first = attempt.claims.first, isTraced(attempt.claims) else { return try await next() }
    // A batch with jobs of several traces belongs to none of them, and links to each.
    let traces = attempt.claims.compactMap(\.record.trace)
    let isOne = traces.allSatisfy { $0 == traces.first }
    let context = traces.first.map { $0.extracted } ?? .topLevel
    try await withSpan("run \(attempt.kind)", context: isOne ? context : .topLevel, ofKind: .consumer) { span in
      describe(span, "process", first.record, attempt.claims.count)
      span.attributes["durablejobs.attempt"] = first.attempt
      if !isOne { for trace in traces { span.addLink(SpanLink(context: trace.extracted, attributes: [:])) } }
      guard let own = TraceContext.injected(from: span.context) else { return try await next() }
      try await own.run(next)
    }
  }

  /// Whether an enqueue gets a span. A tracer may keep its span in the context under a key of its own.
  private func isTraced(_ context: InstrumentationContext?) -> Bool {
    guard let context, !context.isEmpty else { return newTraces.begin() }
    return context.traceContext?.isSampled ?? true
  }

  /// Whether an attempt gets a span.
  private func isTraced(_ claims: [Claim]) -> Bool {
    var hasTrace = false
    for claim in claims {
      guard let trace = claim.record.trace else { continue }
      if trace.isSampled { return true }
      hasTrace = true
    }
    return !hasTrace && newTraces.begin()
  }

  /// Sets the attributes of OpenTelemetry's messaging conventions
  /// (https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/).
  private func describe(_ span: any Span, _ operation: String, _ job: JobRecord, _ count: Int) {
    span.attributes["messaging.system"] = "durablejobs"
    span.attributes["messaging.operation.name"] = operation
    span.attributes["messaging.destination.name"] = job.queue.rawValue
    span.attributes["durablejobs.kind"] = job.kind.rawValue
    if count == 1 {
      span.attributes["messaging.message.id"] = "\(job.id)"
    } else {
      span.attributes["messaging.batch.message_count"] = count
    }
  }
}

/// Limits how many traces begin in a second.
private final class NewTraces: Sendable {
  private struct State {
    var second: ContinuousClock.Instant
    var count = 0
  }

  private let limit: Int
  private let state = Locked(State(second: .now))

  init(perSecond limit: Int) { self.limit = limit }

  func begin() -> Bool {
    let now = ContinuousClock.now
    return state.withLock { state in
      if now - state.second >= .seconds(1) { state = State(second: now) }
      guard state.count < limit else { return false }
      state.count += 1
      return true
    }
  }
}

extension TraceContext {
  /// The context as the tracer injects it into headers; nil if that has no `traceparent`.
  fileprivate static func injected(from context: InstrumentationContext) -> TraceContext? {
    // Without the detour over text if the tracer keeps this very context.
    if let own = context.traceContext, own != TraceContext.current { return own }
    var headers: [String: String] = [:]
    InstrumentationSystem.instrument.inject(context, into: &headers, using: HeaderInjector())
    return headers["traceparent"].flatMap { TraceContext(traceparent: $0) }
  }

  /// The context as the tracer extracts it from headers.
  fileprivate var extracted: InstrumentationContext {
    var context = InstrumentationContext.topLevel
    InstrumentationSystem.instrument.extract(["traceparent": traceparent], into: &context, using: HeaderExtractor())
    return context
  }
}

private struct HeaderInjector: Injector {
  func inject(_ value: String, forKey key: String, into headers: inout [String: String]) { headers[key] = value }
}

private struct HeaderExtractor: Extractor {
  func extract(key: String, from headers: [String: String]) -> String? { headers[key] }
}
