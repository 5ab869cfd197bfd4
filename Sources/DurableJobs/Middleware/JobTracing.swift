import Instrumentation
import Tracing

/// Spans around enqueues and attempts, by the tracer of swift-distributed-tracing's `InstrumentationSystem`: with the
/// span of the request, they are one trace. Without a tracer it does nothing.
public struct JobTracing: JobMiddleware {
  public init() {}

  public var hooks: JobHooks { [.enqueue, .run] }

  public func enqueue(_ jobs: [JobRecord], next: ([JobRecord]) async throws -> [JobID]) async throws -> [JobID] {
    guard let first = jobs.first else { return try await next(jobs) }
    return try await withSpan("enqueue \(first.kind)", ofKind: .producer) { span in
      describe(span, "enqueue", first, jobs.count)
      guard let context = TraceContext.injected(from: span.context) else { return try await next(jobs) }
      var traced = jobs
      for index in traced.indices { traced[index].trace = context }
      return try await next(traced)
    }
  }

  public func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws {
    guard let first = attempt.claims.first else { return try await next() }
    // Attempts at jobs of several traces are none of theirs, and link to each.
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

  /// The attributes of OpenTelemetry's conventions for messaging
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

extension TraceContext {
  /// The context as the tracer writes it into headers; nil where it writes no `traceparent`.
  fileprivate static func injected(from context: InstrumentationContext) -> TraceContext? {
    var headers: [String: String] = [:]
    InstrumentationSystem.instrument.inject(context, into: &headers, using: HeaderInjector())
    return headers["traceparent"].flatMap { TraceContext(traceparent: $0) }
  }

  /// The context as the tracer reads it from headers.
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
