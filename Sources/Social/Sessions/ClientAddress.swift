import Glibc

/// Whom attempts are counted for: a client's network address.
public enum ClientAddress {
  /// - Parameter address: as text; nil for a client without one, such as through a socket of this machine.
  /// - Returns: the address; of IPv6 its first 64 bits, which one client has to itself.
  public static func prefix(of address: String?) -> String {
    guard let address else { return "local" }
    var bytes = in6_addr()
    guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &bytes) == 1 else { return address }
    return withUnsafeBytes(of: bytes) { bytes in
      bytes.prefix(8).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined() + "::/64"
    }
  }
}
