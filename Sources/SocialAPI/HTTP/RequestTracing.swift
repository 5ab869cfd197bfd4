import DurableJobs
import HTTPTypes
import Hummingbird
import Instrumentation
import Logging
import Tracing

/// Gives each request a span: in the trace of its `traceparent`, or in a new one. The request's work belongs to it,
/// including the jobs it enqueues. Log lines carry the trace id as `trace_id`, and the response carries the header
/// `traceparent`.
public struct RequestTracing<Context: RequestContext>: RouterMiddleware {
  public init() {}

  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let caller = request.headers[.traceparent].flatMap { TraceContext(traceparent: $0) }
    var parent = InstrumentationContext.current ?? .topLevel
    parent.traceContext = caller
    return try await withSpan("\(request.method)", context: parent, ofKind: .server) { span in
      // Without a tracer the span has no step of its own.
      let own = span.context.traceContext
      let trace = own.flatMap { $0 == caller ? nil : $0 } ?? TraceContext.begin(following: caller?.traceparent)
      let response = try await handle(request, context, trace, next)
      if span.isRecording { describe(span, request, context, response) }
      return response
    }
  }

  /// The attributes of OpenTelemetry's conventions for HTTP servers
  /// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/).
  private func describe(_ span: any Span, _ request: Request, _ context: Context, _ response: Response) {
    if let route = context.endpointPath {
      span.operationName = "\(request.method) \(route)"
      span.attributes["http.route"] = route
    }
    span.attributes["http.request.method"] = "\(request.method)"
    span.attributes["url.path"] = LoggedPath.shown(request.uri.path)
    span.attributes["http.response.status_code"] = response.status.code
    if response.status.code >= 500 { span.setStatus(SpanStatus(code: .error)) }
  }

  private func handle(
    _ request: Request, _ context: Context, _ trace: TraceContext,
    _ next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.logger[metadataKey: LogKeys.trace] = .stringConvertible(trace.id)
    let begun = ContinuousClock.now
    var response = try await trace.run { [context] in try await next(request, context) }
    response.headers[.traceparent] = trace.traceparent
    context.logger.debug(
      "request answered",
      metadata: [
        "method": "\(request.method)", "path": "\(LoggedPath.shown(request.uri.path))",
        "status": "\(response.status.code)",
        "ms": "\((ContinuousClock.now - begun).milliseconds)",
      ])
    return response
  }
}

/// A path for the log: without the token that some routes contain, which a reader of the log could use before its owner
/// does.
enum LoggedPath {
  /// The last three are the web client's pages for the same tokens.
  private static let secrets = [
    "/v1/password-resets/", "/v1/email-confirmations/", "/v1/account-deletions/", "/v1/account-exports/", "/reset/",
    "/confirm/", "/delete/",
  ]

  static func shown(_ path: String) -> String {
    secrets.first { path.hasPrefix($0) }.map { $0 + "…" } ?? path
  }
}

extension Duration {
  fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
