import DurableJobsDashboard
import HTTPTypes
import Hummingbird
import NIOCore
import Social

/// What a request to the dashboard carries along.
public struct AdminContext: HangUpRequestContext {
  public var coreContext: CoreRequestContextStorage
  /// The client's network address, for counting attempts to sign in; of IPv6 the first 64 bits.
  var address: String
  /// The other end of the connection.
  let peer: String?
  public let hangUp: @Sendable () -> Void

  public init(source: ApplicationRequestContextSource) {
    let channel = source.channel
    self.init(source, address: channel.remoteAddress?.ipAddress) {
      channel.close(promise: nil)
    }
  }

  init(_ source: some RequestContextSource, address: String?, hangUp: @escaping @Sendable () -> Void = {}) {
    self.hangUp = hangUp
    coreContext = CoreRequestContextStorage(source: source)
    peer = address
    self.address = ClientAddress(address).key
  }
}

/// Finds out for whom a proxy has forwarded a request.
struct ClientAddressing: RouterMiddleware {
  /// Whose word counts.
  let proxies: TrustedProxies

  func handle(
    _ request: Request, context: AdminContext, next: (Request, AdminContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.address = proxies.client(peer: context.peer, forwarded: request.headers[values: .forwardedFor]).key
    return try await next(request, context)
  }
}

extension HTTPField.Name {
  fileprivate static var forwardedFor: Self {
    guard let name = Self("X-Forwarded-For") else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}
