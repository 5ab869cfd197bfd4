/// The proxies whose `X-Forwarded-For` is trusted. Any client can send that header, so others' values are ignored.
public struct TrustedProxies: Sendable, Hashable {
  private struct Network: Sendable, Hashable {
    let start: [UInt8]
    let length: Int

    func contains(_ address: IPAddress) -> Bool {
      address.bytes.count == start.count && address.masked(length) == start
    }
  }

  /// Trusts no proxy: a request's client is the peer of its connection.
  public static let none = TrustedProxies(networks: [], entries: [])

  /// An entry is neither an address nor a network.
  public struct Refusal: Error, CustomStringConvertible {
    public let description: String
  }

  private let networks: [Network]
  /// The entries as written.
  public let entries: [String]

  private init(networks: [Network], entries: [String]) {
    self.networks = networks
    self.entries = entries
  }

  /// - Parameter entries: addresses such as `192.0.2.7`, or networks such as `10.0.0.0/8`.
  public init(_ entries: [String]) throws(Refusal) {
    var networks: [Network] = []
    for entry in entries {
      let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count <= 2, let address = IPAddress(parts[0]) else {
        throw Refusal(
          description: "'\(entry)' is neither an address such as 192.0.2.7 nor a network such as 10.0.0.0/8")
      }
      let longest = address.bytes.count * 8
      guard let length = parts.count == 2 ? Int(parts[1]) : longest, 0...longest ~= length else {
        throw Refusal(description: "after the slash, '\(entry)' needs a whole number from 0 to \(longest)")
      }
      networks.append(Network(start: address.masked(length), length: length))
    }
    self.init(networks: networks, entries: entries)
  }

  /// The client of a request: the last hop that is not a trusted proxy.
  ///
  /// Each proxy appends the address of its peer, so the list is read from its end for as long as the hops are trusted
  /// proxies.
  ///
  /// - Parameters:
  ///   - peer: the other end of the connection.
  ///   - forwarded: the values of `X-Forwarded-For`, in the request's order.
  public func client(peer: String?, forwarded: [String]) -> ClientAddress {
    guard !networks.isEmpty, let peer, var hop = IPAddress(peer), trusts(hop) else { return ClientAddress(peer) }
    var text = peer
    for entry in forwarded.flatMap({ $0.split(separator: ",") }).reversed() {
      // An unreadable entry ends the trusted part of the list.
      guard let next = IPAddress(entry) else { break }
      text = String(entry)
      hop = next
      if !trusts(hop) { break }
    }
    return ClientAddress(text)
  }

  /// Whether the other end of a connection is a trusted proxy.
  public func contains(_ peer: String?) -> Bool { peer.flatMap { IPAddress($0) }.map(trusts) ?? false }

  private func trusts(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }
}
