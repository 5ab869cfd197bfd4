import HTTPTypes
import Hummingbird
import NIOCore
import Social

/// What a request to the dashboard carries along.
public struct AdminContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  /// The client's network address, for counting attempts to sign in; of IPv6 the first 64 bits.
  var address: String
  /// The other end of the connection.
  let peer: String?
  /// Ends the connection, whatever is being written to it.
  let hangUp: @Sendable () -> Void

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

  /// The largest form that is read, in bytes.
  public var maxUploadSize: Int { 1 << 20 }
}

extension HTTPField.Name {
  static var forwardedFor: Self {
    guard let name = Self("X-Forwarded-For") else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}
