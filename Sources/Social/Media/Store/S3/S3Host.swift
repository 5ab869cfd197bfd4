/// The host of a store's address.
struct S3Host {
  /// Host and port, without the scheme's default port.
  let server: String
  /// Whether it is an IP address.
  let isAddress: Bool

  /// - Throws: `.invalid`, also for a public internet host without TLS.
  init(_ text: String, scheme: String) throws(MediaStoreError) {
    let isBracketed = text.hasPrefix("[")
    let end = isBracketed ? text.firstIndex(of: "]").map { text.index(after: $0) } : text.firstIndex(of: ":")
    let host = text[..<(end ?? text.endIndex)].lowercased()
    let rest = text[(end ?? text.endIndex)...]
    let address = IPAddress(host)
    guard !host.isEmpty, isBracketed ? address != nil : host.utf8.allSatisfy(Self.isNameByte) else {
      throw MediaStoreError(.invalid, "put a host after the @: a name, an IPv4 address or an IPv6 address in brackets")
    }
    guard rest.isEmpty || (rest.hasPrefix(":") && (1...65535).contains(Int(rest.dropFirst()) ?? 0)) else {
      throw MediaStoreError(.invalid, "after the host and a colon, put a port from 1 to 65535")
    }
    guard scheme == "https" || address.map(Self.isPrivate) ?? Self.isPrivate(host) else {
      throw MediaStoreError(
        .invalid, "s3+http:// is only for a store on this machine or in a private network: use s3+https://")
    }
    let usual = scheme == "https" ? ":443" : ":80"
    server = host + (rest == usual ? "" : String(rest))
    isAddress = address != nil
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
    default: false
    }
  }

  /// Whether an address is loopback (RFC 1122, RFC 4291), link-local (RFC 3927, RFC 4291) or private (RFC 1918,
  /// RFC 4193, RFC 6598).
  private static func isPrivate(_ address: IPAddress) -> Bool {
    let networks =
      address.isIPv4
      ? [
        ("127.0.0.0", 8), ("10.0.0.0", 8), ("172.16.0.0", 12), ("192.168.0.0", 16), ("169.254.0.0", 16),
        ("100.64.0.0", 10),
      ]
      : [("::1", 128), ("fc00::", 7), ("fe80::", 10)]
    return networks.contains { address.masked($0.1) == IPAddress($0.0)?.bytes }
  }

  /// A name in a private network: a single word, as containers have, or with an ending reserved for such networks.
  private static func isPrivate(_ name: String) -> Bool {
    let endings = [".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc", ".svc.cluster.local"]
    return !name.contains(".") || endings.contains { name.hasSuffix($0) }
  }
}
