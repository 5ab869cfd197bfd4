import Hummingbird

/// Responds to requests, to those for event streams in separate tasks.
///
/// A task keeps its deepest stack for life, and a connection's task lives as long as its stream. Setting up a stream
/// takes 30 KB of stack, the stream itself 10.
public struct EventStreamResponder<Responder: HTTPResponder>: HTTPResponder where Responder.Context: Sendable {
  public typealias Context = Responder.Context

  private let responder: Responder

  public init(_ responder: Responder) { self.responder = responder }

  public func respond(to request: Request, context: Context) async throws -> Response {
    if request.uri.path == EventRoutes.path {
      // Not `async let`: its frame would live as long as the stream.
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
