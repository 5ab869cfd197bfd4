import Hummingbird
import NIOCore
import Social

/// What a request to the dashboard carries along.
public struct AdminContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  /// The client's network address, for counting attempts to sign in; of IPv6 the first 64 bits.
  let address: String

  public init(source: ApplicationRequestContextSource) {
    self.init(source, address: ClientAddress.prefix(of: source.channel.remoteAddress?.ipAddress))
  }

  init(_ source: some RequestContextSource, address: String) {
    coreContext = CoreRequestContextStorage(source: source)
    self.address = address
  }

  /// The largest form that is read, in bytes.
  public var maxUploadSize: Int { 1 << 20 }
}
