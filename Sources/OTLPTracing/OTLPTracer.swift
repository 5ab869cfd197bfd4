import DurableJobs
import Instrumentation
import Locking
import Logging
import ServiceLifecycle
import Tracing

/// A tracer that sends its spans to an OpenTelemetry collector, as JSON over HTTP
/// (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
///
/// A trace from elsewhere is sampled if its `traceparent` says so, and a new one by `Configuration.ratio`. At most
/// `capacity` spans wait for the collector; further ones, for example while it is down, are dropped and counted. Spans
/// contain names, ids and errors, but no payloads.
public final class OTLPTracer: Tracer, Service {
  /// The maximum number of waiting spans.
  static let capacity = 4096
  /// The maximum number of spans in one request.
  static let batch = 512

  private struct State {
    var spans: [FinishedSpan] = []
    var dropped = 0
  }

  private let state = Locked(State())
  private let configuration: Configuration
  private let exporter: any SpanExporter
  private let logger: Logger

  public struct Configuration: Sendable {
    /// The resource's `service.name`, such as `fanmill-worker`.
    public var service: String
    /// The resource's `service.version`.
    public var version: String
    /// The sampled share of new traces, 0 to 1.
    public var ratio = 1.0
    /// The interval between requests to the collector. With `batch`, it bounds the cost of tracing.
    public var interval: Duration = .milliseconds(200)

    public init(service: String, version: String) {
      self.service = service
      self.version = version
    }
  }

  /// - Parameter exporter: sends the requests.
  init(_ configuration: Configuration, exporter: any SpanExporter, logger: Logger) {
    self.configuration = configuration
    self.exporter = exporter
    self.logger = logger
  }

  // MARK: Spans

  public func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> OTLPSpan {
    var context = context()
    let parent = context.traceContext
    let isSampled = parent?.isSampled ?? (configuration.ratio >= 1 || Double.random(in: 0..<1) < configuration.ratio)
    let own = TraceContext(
      id: parent?.id ?? .random(), span: .random(in: 1...UInt64.max), isSampled: isSampled)
    context.traceContext = own
    guard isSampled, hasRoom else { return OTLPSpan(context: context, name: operationName) }
    return OTLPSpan(
      context: context, own, parent: parent?.span, kind: kind, name: operationName,
      start: instant().nanosecondsSinceEpoch
    ) { [weak self] in self?.take($0) }
  }

  private var hasRoom: Bool {
    state.withLock { state in
      if state.spans.count < Self.capacity { return true }
      state.dropped += 1
      return false
    }
  }

  private func take(_ span: FinishedSpan) {
    state.withLock { state in
      if state.spans.count < Self.capacity { state.spans.append(span) } else { state.dropped += 1 }
    }
  }

  public func forceFlush() {}

  // MARK: Propagation

  public func inject<Carrier, Inject: Injector>(
    _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
  ) where Carrier == Inject.Carrier {
    guard let trace = context.traceContext else { return }
    injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
  }

  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
  ) where Carrier == Extract.Carrier {
    guard let text = extractor.extract(key: "traceparent", from: carrier) else { return }
    context.traceContext = TraceContext(traceparent: text)
  }

  // MARK: Export

  /// Sends spans until a graceful shutdown, then the remaining ones, unless the task is cancelled.
  public func run() async {
    let (stops, stop) = AsyncStream.makeStream(of: Void.self)
    await withTaskCancellationHandler {
      await withGracefulShutdownHandler {
        await sendUntil(stops)
        if !Task.isCancelled { await sendAll() }
      } onGracefulShutdown: {
        stop.finish()
      }
    } onCancel: {
      stop.finish()
    }
  }

  private func sendUntil(_ stops: AsyncStream<Void>) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        while !Task.isCancelled {
          do { try await Task.sleep(for: self.configuration.interval) } catch { return }
          await self.send()
        }
      }
      for await _ in stops {}
      group.cancelAll()
    }
  }

  private func sendAll() async {
    while state.withLock({ !$0.spans.isEmpty }) {
      guard await send() else { return }
    }
  }

  /// Sends a batch, if there is one.
  ///
  /// - Returns: false if the collector did not accept it.
  @discardableResult
  private func send() async -> Bool {
    let (spans, dropped) = state.withLock { state in
      let batch = Array(state.spans.prefix(Self.batch))
      state.spans.removeFirst(batch.count)
      defer { state.dropped = 0 }
      return (batch, state.dropped)
    }
    if dropped > 0 {
      logger.debug("spans are dropped: they arrive faster than they are sent", metadata: [LogKeys.count: "\(dropped)"])
    }
    if spans.isEmpty { return true }
    do {
      try await exporter.export(SpanJSON.request(spans, configuration))
      return true
    } catch {
      logger.warning(
        "the collector did not take spans; they are dropped",
        metadata: [LogKeys.count: "\(spans.count)", LogKeys.error: "\(error)"])
      return false
    }
  }
}

/// Sends a request's body to a collector.
protocol SpanExporter: Sendable {
  func export(_ body: [UInt8]) async throws
}
