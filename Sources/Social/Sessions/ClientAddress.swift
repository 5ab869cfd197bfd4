/// A client's network address, for counting attempts and budgets.
public struct ClientAddress: Sendable, Hashable {
  /// The key for counts: an IPv4 address, or the first 64 bits of an IPv6 address, which belong to one client.
  public let key: String
  /// The part that stays when a client's address changes: the first 24 bits of IPv4, the first 48 of IPv6.
  public let network: String

  /// - Parameter address: as text; nil for a client without one, such as on a local socket.
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
