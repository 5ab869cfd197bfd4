import DurableJobsDashboard
import HTTPTypes
import Hummingbird
import NIOCore
import Social

/// The state of a request to the dashboard.
public struct AdminContext: HangUpRequestContext {
  public var coreContext: CoreRequestContextStorage
  /// The client's network address, for counting sign-in attempts; the first 64 bits of an IPv6 address.
  var address: String
  /// The address of the connection's other end.
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

/// Determines the client behind trusted proxies.
struct ClientAddressing: RouterMiddleware {
  /// The trusted proxies.
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
