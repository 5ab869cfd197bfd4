import Hummingbird

/// Answers requests, those for event streams in tasks of their own.
///
/// A task keeps the deepest stack that it ever had for as long as it lives, and a connection's task lives as long as the
/// stream. The way to a stream takes 30 KB of it, and the stream 10.
public struct EventStreamResponder<Responder: HTTPResponder>: HTTPResponder where Responder.Context: Sendable {
  public typealias Context = Responder.Context

  private let responder: Responder

  public init(_ responder: Responder) { self.responder = responder }

  public func respond(to request: Request, context: Context) async throws -> Response {
    if request.uri.path == EventRoutes.path {
      // Not `async let`, whose frame would stay with the stream.
      let response = Task { try await responder.respond(to: request, context: context) }
      return try await withTaskCancellationHandler {
        try await response.value
      } onCancel: {
        response.cancel()
      }
    }
    return try await responder.respond(to: request, context: context)
  }
}
