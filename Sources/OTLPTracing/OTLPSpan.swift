import DurableJobs
import Instrumentation
import Locking
import Tracing

/// A span of an `OTLPTracer`. An unsampled one records nothing.
public final class OTLPSpan: Span {
  /// Contains the span's own `TraceContext`.
  public let context: InstrumentationContext
  private let record: Locked<FinishedSpan>?
  private let finish: @Sendable (FinishedSpan) -> Void
  private let name: String

  /// A span that records nothing.
  init(context: InstrumentationContext, name: String) {
    self.context = context
    self.name = name
    record = nil
    finish = { _ in }
  }

  init(
    context: InstrumentationContext, _ own: TraceContext, parent: UInt64?, kind: SpanKind, name: String, start: UInt64,
    finish: @escaping @Sendable (FinishedSpan) -> Void
  ) {
    self.context = context
    self.name = name
    self.finish = finish
    record = Locked(FinishedSpan(context: own, parent: parent, kind: kind, name: name, start: start))
  }

  public var isRecording: Bool { record?.withLock { $0.end == nil } ?? false }

  public var operationName: String {
    get { record?.withLock { $0.name } ?? name }
    set { record?.withLock { $0.name = newValue } }
  }

  public var attributes: SpanAttributes {
    get { record?.withLock { $0.attributes } ?? [:] }
    set { record?.withLock { $0.attributes = newValue } }
  }

  public func setStatus(_ status: SpanStatus) { record?.withLock { $0.status = status } }

  public func addEvent(_ event: SpanEvent) { record?.withLock { $0.events.append(event) } }

  public func addLink(_ link: SpanLink) {
    guard let context = link.context.traceContext else { return }
    record?.withLock { $0.links.append(context) }
  }

  /// Adds an `exception` event whose message is the first 500 bytes of the error.
  public func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    guard record != nil else { return }
    var attributes = attributes
    attributes["exception.type"] = "\(type(of: error))"
    attributes["exception.message"] = String(decoding: "\(error)".utf8.prefix(500), as: UTF8.self)
    addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
  }

  /// Ends the span; later calls do nothing.
  public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    guard let record else { return }
    let end = instant().nanosecondsSinceEpoch
    let finished = record.withLock { record -> FinishedSpan? in
      if record.end != nil { return nil }
      record.end = end
      return record
    }
    if let finished { finish(finished) }
  }
}

/// A span's recorded data.
struct FinishedSpan: Sendable {
  let context: TraceContext
  /// nil for the first span of a trace.
  let parent: UInt64?
  let kind: SpanKind
  var name: String
  /// Nanoseconds since 1970.
  let start: UInt64
  var end: UInt64?
  var attributes: SpanAttributes = [:]
  var status: SpanStatus?
  var events: [SpanEvent] = []
  var links: [TraceContext] = []

  init(context: TraceContext, parent: UInt64?, kind: SpanKind, name: String, start: UInt64) {
    self.context = context
    self.parent = parent
    self.kind = kind
    self.name = name
    self.start = start
  }
}
