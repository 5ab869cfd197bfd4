import Glibc
import Hummingbird
import NIOCore

/// What a request to the dashboard carries along.
public struct AdminContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  /// The client's network address, for counting attempts to sign in; of IPv6 the first 64 bits.
  let address: String

  public init(source: ApplicationRequestContextSource) {
    self.init(source, address: Self.prefix(of: source.channel.remoteAddress))
  }

  init(_ source: some RequestContextSource, address: String) {
    coreContext = CoreRequestContextStorage(source: source)
    self.address = address
  }

  /// The largest form that is read, in bytes.
  public var maxUploadSize: Int { 1 << 20 }

  static func prefix(of address: SocketAddress?) -> String {
    switch address {
    case .v4(let address): SocketAddress.v4(address).ipAddress ?? "unknown"
    case .v6(let address):
      withUnsafeBytes(of: address.address.sin6_addr) { bytes in
        bytes.prefix(8).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined() + "::/64"
      }
    case .unixDomainSocket, nil: "local"
    }
  }
}
