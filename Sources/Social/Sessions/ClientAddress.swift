/// Where a request comes from, as far as attempts and budgets are counted.
public struct ClientAddress: Sendable, Hashable {
  /// Whom counts are for: an address; of IPv6 its first 64 bits, which one client has to itself.
  public let key: String
  /// What stays when a client's address changes: of IPv4 the first 24 bits, of IPv6 the first 48.
  public let network: String

  /// - Parameter address: as text; nil for a client without one, such as through a socket of this machine.
  public init(_ address: String?) {
    guard let address, let parsed = IPAddress(address) else {
      key = address ?? "local"
      network = key
      return
    }
    key = parsed.network(parsed.isIPv4 ? 32 : 64)
    network = parsed.network(parsed.isIPv4 ? 24 : 48)
  }
}
