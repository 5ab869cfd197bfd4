import Glibc
import Testing

@testable import Social

/// Webhooks lead to public addresses only.
struct WebhookAddressTests {
  private func bytes(_ text: String) throws -> [UInt8] {
    var four = in_addr()
    if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
    var sixteen = in6_addr()
    try #require(inet_pton(AF_INET6, text, &sixteen) == 1, "\(text)")
    return withUnsafeBytes(of: sixteen) { Array($0) }
  }

  @Test(arguments: [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
    "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:4860::8888",
    "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
  ])
  func publicAddressesAreAllowed(_ text: String) throws { #expect(WebhookAddresses.isPublic(try bytes(text))) }

  @Test(arguments: [
    "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255",
    "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255",
    "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "fc00::1", "fd00:ec2::254",
    "fe80::1", "fec0::1", "ff02::1", "5f00::1",
  ])
  func othersAreNot(_ text: String) throws { #expect(!WebhookAddresses.isPublic(try bytes(text))) }

  @Test func whatIsNoAddressIsNotAllowed() {
    for count in [0, 1, 3, 5, 15, 17] { #expect(!WebhookAddresses.isPublic([UInt8](repeating: 8, count: count))) }
  }

  @Test(arguments: [
    "http://hooks.example.org", "ftp://hooks.example.org", "hooks.example.org", "https://", "https://a b.example.org",
    "https://user:password@hooks.example.org/", "https://hooks.example.org/#part", "https://hooks.example.org:99999/",
    "https://127.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://169.254.169.254/latest/meta-data",
    "https://hooks.example.org/" + String(repeating: "a", count: 2000),
  ])
  func aURLThatLeadsElsewhereIsRefused(_ url: String) {
    #expect(throws: SocialError.self) { try WebhookURL(url, allowsPrivate: false) }
  }

  @Test func aURLIsTakenAsItIs() throws {
    let url = try WebhookURL(" https://hooks.example.org:8443/a%20b?key=x ", allowsPrivate: false)
    #expect(url.scheme == "https" && url.authority == "hooks.example.org:8443" && url.path == "/a%20b?key=x")
    #expect(WebhookURL.masked(url.text) == "https://hooks.example.org:8443/a%20b?…")
    let own = try WebhookURL("http://127.0.0.1:80", allowsPrivate: true)
    #expect(own.scheme == "http" && own.path == "/")
  }

  @Test func eventsAreThoseThatThereAre() throws {
    #expect(try WebhookEventType.list(["post.deleted", "post.created"]) == [.postCreated, .postDeleted])
    #expect(try WebhookEventType.list(["*"]) == WebhookEventType.allCases)
    for wrong in [[], ["post"], ["webhook.test"]] {
      #expect(throws: SocialError.self) { try WebhookEventType.list(wrong) }
    }
  }
}
