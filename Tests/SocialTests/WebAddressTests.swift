import Testing

@testable import Social

@Suite struct WebAddressTests {
  @Test(arguments: [
    "https://example.org/a.png", "HTTPS://Example.org:8443/a%20b.png?size=2#x", "https://xn--bcher-kva.example/",
    "https://[2001:db8::1]/a.png",
  ])
  func encryptedAddressesAreTaken(address: String) throws {
    #expect(try AccountChanges(avatar: address).avatar == address)
    #expect(try PostDraft(title: "t", image: address).image == address)
    #expect(try PostChanges(image: address).image == address)
    #expect(try AccountChanges(avatar: address, addresses: .development).avatar == address)
  }

  @Test(arguments: [
    "", "javascript:alert(1)", "JavaScript://example.org/%0Aalert(1)", "data:text/html,<script>alert(1)</script>",
    "vbscript:x", "file:///etc/passwd", "ftp://example.org/a.png", "//example.org/a.png", "/a.png", "a.png",
    "http://example.org/a.png", "http://127.0.0.1.example.org/a.png", "http://localhost.example.org/", "https:",
    "https://", "https:///a.png", "https:example.org", "https:/example.org", "https:\\\\example.org",
    "https://example.org\\@evil.example", "https://ann@example.org/", "https://ann:pw@example.org/",
    " https://example.org/", "https://example.org/a b", "https://example.org/\n", "java\tscript:alert(1)",
    "https://example.org/\"onerror=", "https://example.org/<script>", "https://bücher.example/", "http://127.0.0.256/",
    "http://127.1/", "http://0177.0.0.1/", "http://10.0.0.1/", "http://[::2]/",
    "https://example.org/" + String(repeating: "a", count: 2029),
  ])
  func otherAddressesAreRefusedByName(address: String) throws {
    for rule in [WebAddressRule.https, .development] {
      #expect(try code { try AccountChanges(avatar: address, addresses: rule) } == "invalid_avatar", "\(address)")
      #expect(try code { try PostDraft(title: "t", image: address, addresses: rule) } == "invalid_image", "\(address)")
      #expect(try code { try PostChanges(image: address, addresses: rule) } == "invalid_image", "\(address)")
    }
  }

  @Test(arguments: [
    "http://localhost:3000/a.png", "http://127.0.0.1/a.png", "http://127.8.9.10/", "http://[::1]:8080/",
  ])
  func theMachineItselfIsTakenInDevelopmentOnly(address: String) throws {
    #expect(try AccountChanges(avatar: address, addresses: .development).avatar == address)
    #expect(try PostDraft(title: "t", image: address, addresses: .development).image == address)
    #expect(try code { try AccountChanges(avatar: address) } == "invalid_avatar")
    #expect(try code { try PostDraft(title: "t", image: address) } == "invalid_image")
  }

  private func code<Value>(_ body: () throws -> Value) throws -> String? {
    do {
      _ = try body()
      return nil
    } catch let error as SocialError {
      return error.code.rawValue
    }
  }
}
