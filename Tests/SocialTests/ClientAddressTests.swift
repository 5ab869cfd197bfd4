import Testing

@testable import Social

@Suite struct ClientAddressTests {
  static let addresses: [(address: String?, key: String, network: String)] = [
    ("192.0.2.7", "192.0.2.7", "192.0.2.0/24"), ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.0/24"),
    ("::FFFF:c000:207", "192.0.2.7", "192.0.2.0/24"), ("192.0.2.7:4711", "192.0.2.7", "192.0.2.0/24"),
    ("2001:db8:1:2::1", "20010db800010002::/64", "20010db80001::/48"),
    ("[2001:db8:1:2:ffff::2]:80", "20010db800010002::/64", "20010db80001::/48"),
    ("fe80::1%eth0", "fe80000000000000::/64", "fe8000000000::/48"), (nil, "local", "local"), ("x", "x", "x"),
  ]

  @Test(arguments: addresses)
  func countsByWhatOneClientHas(address: String?, key: String, network: String) {
    let client = ClientAddress(address)
    #expect(client.key == key && client.network == network)
  }

  static let hops: [(peer: String?, forwarded: [String], key: String)] = [
    // Only trusted proxies are believed.
    ("198.51.100.1", ["192.0.2.9"], "198.51.100.1"),
    // The last address that is not one of our proxies, whatever precedes it.
    ("10.1.2.3", ["192.0.2.9"], "192.0.2.9"), ("10.1.2.3", ["1.1.1.1, 192.0.2.9"], "192.0.2.9"),
    ("10.1.2.3", ["1.1.1.1", "192.0.2.9, 10.9.9.9"], "192.0.2.9"), ("::ffff:10.1.2.3", ["192.0.2.9:55"], "192.0.2.9"),
    ("fd00::1", ["2001:db8:1:2::1"], "20010db800010002::/64"), ("10.1.2.3", ["::ffff:192.0.2.9"], "192.0.2.9"),
    // An unreadable entry ends the trusted part.
    ("10.1.2.3", ["192.0.2.9, unknown"], "10.1.2.3"), ("10.1.2.3", ["192.0.2.9, , 10.9.9.9"], "10.9.9.9"),
    ("10.1.2.3", [], "10.1.2.3"), ("10.1.2.3", [""], "10.1.2.3"), ("10.1.2.3", ["10.4.4.4"], "10.4.4.4"),
    (nil, ["192.0.2.9"], "local"),
  ]

  @Test(arguments: hops)
  func comesFromTheLastHopThatIsNoTrustedProxy(peer: String?, forwarded: [String], key: String) throws {
    let proxies = try TrustedProxies(["10.0.0.0/8", "fd00::/8"])
    #expect(proxies.client(peer: peer, forwarded: forwarded).key == key)
    #expect(TrustedProxies.none.client(peer: peer, forwarded: forwarded) == ClientAddress(peer))
  }

  @Test(arguments: ["proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/9", "::/129", "/8", "10.0.0.0/-1", "1.2.3"])
  func isNoProxy(entry: String) {
    #expect(throws: TrustedProxies.Refusal.self) { try TrustedProxies([entry]) }
  }

  @Test func aNetworkEndsWhereItsBitsDo() throws {
    let proxies = try TrustedProxies(["192.0.2.130/25", "2001:db8::/33"])
    func isTrusted(_ peer: String) -> Bool { proxies.client(peer: peer, forwarded: ["1.1.1.1"]).key == "1.1.1.1" }
    #expect(isTrusted("192.0.2.128") && isTrusted("192.0.2.255") && !isTrusted("192.0.2.127"))
    #expect(isTrusted("2001:db8:7fff::1") && !isTrusted("2001:db8:8000::1"))
    #expect(try TrustedProxies(["0.0.0.0/0"]).client(peer: "9.9.9.9", forwarded: ["::1"]).key.hasSuffix("::/64"))
  }
}
