/// Which network addresses webhooks may be sent to: public ones, so that a hook's URL cannot reach what only this
/// network's servers can.
///
/// The networks are those of the IANA special-purpose registries (RFC 6890 and its updates), multicast, and the
/// addresses where cloud providers serve a machine's credentials.
public enum WebhookAddresses {
  /// Whether the address is public.
  ///
  /// - Parameter bytes: 4 or 16; any other number is refused.
  public static func isPublic(_ bytes: [UInt8]) -> Bool {
    switch bytes.count {
    case 4: !refusedIPv4.contains { $0.contains(bytes) }
    case 16: isPublicIPv6(bytes)
    default: false
    }
  }

  private static func isPublicIPv6(_ bytes: [UInt8]) -> Bool {
    // IPv4-mapped addresses, and those that a NAT64 translates, lead to an IPv4 address.
    if mapped.contains(bytes) || translated.contains(bytes) { return isPublic(Array(bytes.suffix(4))) }
    return unicast.contains(bytes) && !refusedIPv6.contains { $0.contains(bytes) }
  }

  /// The addresses that share their first bits.
  private struct Network: Sendable {
    let start: [UInt8]
    let bits: Int

    init(_ start: [UInt8], _ bits: Int, of count: Int) {
      self.start = start + [UInt8](repeating: 0, count: count - start.count)
      self.bits = bits
    }

    func contains(_ bytes: [UInt8]) -> Bool {
      for index in bytes.indices {
        let left = bits - index * 8
        if left <= 0 { return true }
        let mask: UInt8 = left >= 8 ? 0xFF : ~(0xFF >> UInt8(left))
        if bytes[index] & mask != start[index] & mask { return false }
      }
      return true
    }
  }

  private static let refusedIPv4: [Network] = [
    Network([0], 8, of: 4),  // this network
    Network([10], 8, of: 4),  // private
    Network([100, 64], 10, of: 4),  // carrier-grade NAT, and a provider's credentials
    Network([127], 8, of: 4),  // loopback
    Network([168, 63, 129, 16], 32, of: 4),  // a provider's credentials
    Network([169, 254], 16, of: 4),  // link-local, and most providers' credentials
    Network([172, 16], 12, of: 4),  // private
    Network([192, 0, 0], 24, of: 4),  // protocol assignments, and a provider's credentials
    Network([192, 0, 2], 24, of: 4),  // documentation
    Network([192, 88, 99], 24, of: 4),  // relays to 6to4
    Network([192, 168], 16, of: 4),  // private
    Network([198, 18], 15, of: 4),  // benchmarks
    Network([198, 51, 100], 24, of: 4),  // documentation
    Network([203, 0, 113], 24, of: 4),  // documentation
    Network([224], 4, of: 4),  // multicast
    Network([240], 4, of: 4),  // reserved, and broadcast
  ]

  private static let mapped = Network([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96, of: 16)
  private static let translated = Network([0, 0x64, 0xFF, 0x9B], 96, of: 16)
  /// All that is global unicast so far. Loopback, link-local, unique local and multicast addresses are outside.
  private static let unicast = Network([0x20], 3, of: 16)

  private static let refusedIPv6: [Network] = [
    Network([0x20, 0x01], 23, of: 16),  // protocol assignments, Teredo among them
    Network([0x20, 0x01, 0x0D, 0xB8], 32, of: 16),  // documentation
    Network([0x20, 0x02], 16, of: 16),  // 6to4, which contains an IPv4 address
    Network([0x3F, 0xFF], 20, of: 16),  // documentation
  ]
}
