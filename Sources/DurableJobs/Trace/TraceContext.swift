import Instrumentation

/// The current position in a trace. It travels between processes as the header `traceparent`, within one by task.
///
/// It is stored in swift-distributed-tracing's context and propagates with it. A job enqueued inside carries it
/// (`JobRecord.trace`), and its handler runs in the same trace.
public struct TraceContext: Hashable, Sendable {
  /// The trace.
  public let id: TraceID
  /// Identifies the current span; not 0.
  public let span: UInt64
  /// Whether the trace's origin records it.
  public let isSampled: Bool

  public init(id: TraceID, span: UInt64, isSampled: Bool = true) {
    self.id = id
    self.span = max(1, span)
    self.isSampled = isSampled
  }

  /// A new span in a request's trace, or in a new trace if the request has no valid header.
  ///
  /// - Parameter traceparent: the request's header.
  public static func begin(following traceparent: String? = nil) -> TraceContext {
    let span = UInt64.random(in: 1...UInt64.max)
    guard let caller = traceparent.flatMap(TraceContext.init(traceparent:)) else {
      return TraceContext(id: .random(), span: span)
    }
    return TraceContext(id: caller.id, span: span, isSampled: caller.isSampled)
  }

  /// A new span in a trace.
  public static func begin(in trace: TraceID) -> TraceContext {
    TraceContext(id: trace, span: .random(in: 1...UInt64.max))
  }

  /// - Parameter traceparent: version, trace id, parent id and flags
  ///   (https://www.w3.org/TR/trace-context/#traceparent-header); versions after 00 must begin the same way.
  public init?(traceparent: String) {
    let text = Array(traceparent.utf8)
    guard text.count >= 55, text[2] == 0x2D, text[35] == 0x2D, text[52] == 0x2D,
      let version = TraceHex.number(text[..<2]), version != 0xFF,
      text.count == 55 || (version > 0 && text[55] == 0x2D),
      let high = TraceHex.number(text[3..<19]), let low = TraceHex.number(text[19..<35]),
      let id = TraceID(high: high, low: low),
      let span = TraceHex.number(text[36..<52]), span != 0, let flags = TraceHex.number(text[53..<55])
    else { return nil }
    self.init(id: id, span: span, isSampled: flags & 1 == 1)
  }

  /// The header that continues the trace in another process.
  public var traceparent: String { "00-\(id)-\(TraceHex.text(span))-0\(isSampled ? 1 : 0)" }

  // MARK: Task context

  fileprivate enum Key: InstrumentationContextKey {
    typealias Value = TraceContext
    static var nameOverride: String? { "traceparent" }
  }

  /// The current task's trace; nil outside any.
  public static var current: TraceContext? { InstrumentationContext.current?.traceContext }

  /// Runs `body`, and every task that it starts, in this span of the trace.
  public func run<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
  ) async rethrows -> Result {
    var context = InstrumentationContext.current ?? .topLevel
    context.traceContext = self
    return try await InstrumentationContext.withValue(context, operation: body)
  }
}

extension InstrumentationContext {
  /// The context's span of a trace; nil outside any.
  public var traceContext: TraceContext? {
    get { self[TraceContext.Key.self] }
    set { self[TraceContext.Key.self] = newValue }
  }
}

extension JobRecord {
  /// Runs `body` in the job's trace. Free for jobs without one.
  func inTrace<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
  ) async rethrows -> Result {
    guard let trace else { return try await body() }
    return try await TraceContext(id: trace.id, span: id.low, isSampled: trace.isSampled).run(body)
  }
}
