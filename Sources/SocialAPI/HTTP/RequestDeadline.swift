import Hummingbird
import Reactor

/// Gives each request a deadline. A request that is still waiting for a server then fails, and the client gets
/// `unavailable`. Streams are exempt, since their events are written after the response has begun; so is the time that
/// a client takes to send a body.
public struct RequestDeadline<Context: RequestContext>: RouterMiddleware {
  private let limit: Duration

  public init(_ limit: Duration) { self.limit = limit }

  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    try await Deadline.$current.withValue(Deadline(after: limit)) { try await next(request, context) }
  }
}
