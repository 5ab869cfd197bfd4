import DurableJobs
import HTTPTypes
import Hummingbird
import Logging

/// Gives each request a span: in the trace of its `traceparent`, or in a new one. The request's work belongs to it,
/// including the jobs it enqueues. Log lines carry the trace id as `trace_id`, and the response carries the header
/// `traceparent`.
public struct RequestTracing<Context: RequestContext>: RouterMiddleware {
  public init() {}

  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let trace = TraceContext.begin(following: request.headers[.traceparent])
    var context = context
    context.logger[metadataKey: LogKeys.trace] = "\(trace.id)"
    let begun = ContinuousClock.now
    var response = try await trace.run { [context] in try await next(request, context) }
    response.headers[.traceparent] = trace.traceparent
    context.logger.debug(
      "a request is answered",
      metadata: [
        "method": "\(request.method)", "path": "\(LoggedPath.shown(request.uri.path))",
        "status": "\(response.status.code)",
        "ms": "\((ContinuousClock.now - begun).milliseconds)",
      ])
    return response
  }
}

extension HTTPField.Name {
  /// The header of W3C Trace Context.
  static var traceparent: Self {
    guard let name = Self("traceparent") else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}

/// A path for the log: without the token that some routes contain, which a reader of the log could use before its owner
/// does.
enum LoggedPath {
  static func shown(_ path: String) -> String {
    let secret = ["/v1/password-resets/", "/v1/email-confirmations/"].first { path.hasPrefix($0) }
    return secret.map { $0 + "…" } ?? path
  }
}

extension Duration {
  fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
