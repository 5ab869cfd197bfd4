import DurableJobs
import HTTPTypes
import Hummingbird
import Logging

/// Gives each request a step in a trace: that of its `traceparent`, or a new one. Whatever the request does is in it,
/// the jobs it asks for too; its log lines carry the id as `trace_id`, and the answer the header `traceparent`.
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
  /// Of W3C Trace Context.
  static var traceparent: Self {
    guard let name = Self("traceparent") else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}

/// A path as a log shows it: without the token that some routes have in it, which whoever reads the log could use before
/// its owner.
enum LoggedPath {
  static func shown(_ path: String) -> String {
    let secret = ["/v1/password-resets/", "/v1/email-confirmations/"].first { path.hasPrefix($0) }
    return secret.map { $0 + "…" } ?? path
  }
}

extension Duration {
  fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
