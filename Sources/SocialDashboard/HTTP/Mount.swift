import Hummingbird
import Logging
import NIOCore

/// Serves the dashboard under `/admin` and the API everywhere else. They share only the port: each has its own contexts
/// and errors.
public struct Mount<API: HTTPResponder>: HTTPResponder
where API.Context: RequestContext, API.Context.Source == ApplicationRequestContextSource {
  /// The request's source, before it is known which side serves it.
  public struct Context: InitializableFromSource, Sendable {
    private let channel: any Channel
    private let logger: Logger

    public init(source: ApplicationRequestContextSource) {
      channel = source.channel
      logger = source.logger
    }

    var source: ApplicationRequestContextSource { ApplicationRequestContextSource(channel: channel, logger: logger) }
  }

  private let dashboard: RouterResponder<AdminContext>
  private let api: API

  public init(_ dashboard: RouterResponder<AdminContext>, beside api: API) {
    self.dashboard = dashboard
    self.api = api
  }

  public func respond(to request: Request, context: Context) async throws -> Response {
    let path = request.uri.path
    if path == SocialDashboard.path || path.hasPrefix(SocialDashboard.path + "/") {
      return try await dashboard.respond(to: request, context: AdminContext(source: context.source))
    }
    return try await api.respond(to: request, context: API.Context(source: context.source))
  }
}
