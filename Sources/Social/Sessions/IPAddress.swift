import Glibc

/// An IP address. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) is IPv4.
struct IPAddress: Sendable, Hashable {
  /// 4 or 16 bytes.
  let bytes: [UInt8]

  var isIPv4: Bool { bytes.count == 4 }

  /// Parses `192.0.2.1`, `2001:db8::1`, `fe80::1%eth0`, and the forms that proxies write: `192.0.2.1:4711`,
  /// `[2001:db8::1]:4711`.
  ///
  /// - Returns: nil for anything else.
  init?(_ text: some StringProtocol) {
    var plain = String(text.filter { !$0.isWhitespace })
    if plain.hasPrefix("[") {
      guard let end = plain.firstIndex(of: "]") else { return nil }
      plain = String(plain[plain.index(after: plain.startIndex)..<end])
    } else if plain.count(where: { $0 == ":" }) == 1 {
      plain = String(plain.prefix { $0 != ":" })
    }
    var four = in_addr()
    var sixteen = in6_addr()
    if inet_pton(AF_INET, plain, &four) == 1 {
      bytes = withUnsafeBytes(of: four) { Array($0) }
    } else if inet_pton(AF_INET6, String(plain.prefix { $0 != "%" }), &sixteen) == 1 {
      let all = withUnsafeBytes(of: sixteen) { Array($0) }
      let isMapped = all.prefix(10).allSatisfy { $0 == 0 } && all[10] == 0xFF && all[11] == 0xFF
      bytes = isMapped ? Array(all.suffix(4)) : all
    } else {
      return nil
    }
  }

  /// The first `length` bits, with the rest zero.
  func masked(_ length: Int) -> [UInt8] {
    bytes.enumerated().map { index, byte in
      let bits = min(max(length - index * 8, 0), 8)
      return byte & ~UInt8(truncatingIfNeeded: 0xFF >> bits)
    }
  }

  /// Such as `192.0.2.0/24` and `20010db800010002::/64`.
  func network(_ length: Int) -> String {
    let masked = masked(length)
    if isIPv4 { return masked.map(String.init).joined(separator: ".") + (length == 32 ? "" : "/\(length)") }
    let text = masked.prefix(length / 8).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    return text + "::/\(length)"
  }
}
