import Testing

@testable import Social

struct S3AddressTests {
  @Test func everyPartIsRead() throws {
    let address = try S3Address(
      url: "s3+https://AKIA:sec%2Fret@S3.example.org:9000/pictures/of/fans?region=eu-west-1&style=virtual")
    #expect(address.scheme == "https" && address.server == "s3.example.org:9000" && address.bucket == "pictures")
    #expect(address.prefix == "of/fans/" && address.region == "eu-west-1" && address.style == .virtual)
    #expect(address.credentials.accessKey == "AKIA" && address.credentials.secret == "sec/ret")
    #expect(address.name == "s3+https://s3.example.org:9000/pictures/of/fans")
  }

  @Test func whatIsLeftOutIsUsual() throws {
    let address = try S3Address(url: "s3+https://k:s@h.example/abc")
    #expect(address.region == "us-east-1" && address.style == .path && address.prefix.isEmpty)
    #expect(try S3Address(url: "s3+https://k:s@h:443/abc/").server == "h")
    #expect(try S3Address(url: "s3+http://k:s@h:80/abc/d/").prefix == "d/")
    #expect(try S3Address(url: "s3+http://k:s@h:443/abc").server == "h:443")
  }

  /// In AWS's form: a base64 secret contains slashes and plus signs.
  @Test(arguments: ["a/b+c", "a:b", "a@b", "a?b#c", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"])
  func aSecretMayStandAsItIs(_ secret: String) throws {
    #expect(try S3Address(url: "s3+https://k:\(secret)@h/abc").credentials.secret == secret)
  }

  @Test(arguments: [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.1.1", "100.64.0.1", "[::1]",
    "[fd00::1]", "[fe80::1]", "localhost", "minio", "minio.svc", "minio.app.svc.cluster.local", "store.internal",
  ])
  func aPrivateNetworkMayDoWithoutTLS(_ host: String) throws {
    #expect(try S3Address(url: "s3+http://k:s@\(host):9000/abc").server == "\(host):9000")
  }

  @Test(arguments: [
    "s3.amazonaws.com", "8.8.8.8", "172.32.0.1", "192.169.0.1", "11.0.0.1", "[2001:db8::1]", "internal.example.org",
    "localhost.example.org",
  ])
  func theOpenInternetMayNot(_ host: String) {
    let error = #expect(throws: MediaStoreError.self) { try S3Address(url: "s3+http://k:s@\(host)/abc") }
    #expect(error?.message.contains("use s3+https://") == true)
    #expect(throws: Never.self) { try S3Address(url: "s3+https://k:s@\(host)/abc") }
  }

  @Test(arguments: [
    ("https://k:TOP@h/abc", "s3+https://"), ("s3://k:TOP@h/abc", "s3+https://"), ("s3+https://h/abc", "KEY:SECRET@"),
    ("s3+https://TOP@h/abc", "a colon"), ("s3+https://:TOP@h/abc", "access key"), ("s3+https://k:@h/abc", "secret"),
    ("s3+https://k:TOP %@h/abc", "spaces"), ("s3+https://k:TOP%zz@h/abc", "%25"), ("s3+https://k:TOP@/abc", "a host"),
    ("s3+https://k:TOP%0A@h/abc", "spaces"), ("s3+https://k:TOP@h_ö/abc", "a host"),
    ("s3+https://k:TOP@[::1/abc", "a host"), ("s3+https://k:TOP@[1.2.3]/abc", "a host"),
    ("s3+https://k:TOP@h:0/abc", "a port"), ("s3+https://k:TOP@h:65536/abc", "a port"),
    ("s3+https://k:TOP@h:x/abc", "a port"), ("s3+https://k:TOP@h", "/BUCKET"), ("s3+https://k:TOP@h/", "/BUCKET"),
    ("s3+https://k:TOP@h/ab", "/BUCKET"), ("s3+https://k:TOP@h/Abc", "/BUCKET"), ("s3+https://k:TOP@h/-abc", "/BUCKET"),
    ("s3+https://k:TOP@h/a..c", "/BUCKET"), ("s3+https://k:TOP@h/abc//d", "prefix"),
    ("s3+https://k:TOP@h/abc/../d", "prefix"), ("s3+https://k:TOP@h/abc/d%20e", "prefix"),
    ("s3+https://k:TOP@h/abc?region=", "region="), ("s3+https://k:TOP@h/abc?region=EU", "region="),
    ("s3+https://k:TOP@h/abc?style=dns", "style="), ("s3+https://k:TOP@h/abc?token=1", "may follow the ?"),
    ("s3+https://k:TOP@h/a.bc?style=virtual", "style=path"),
    ("s3+https://k:TOP@10.0.0.1/abc?style=virtual", "style=path"), ("s3+https://k:TOP@h/abc#d", "/BUCKET"),
  ])
  func whatIsWrongIsNamedWithoutTheSecret(_ url: String, _ part: String) {
    let error = #expect(throws: MediaStoreError.self) { try S3Address(url: url) }
    #expect(error?.code == .invalid && error?.message.contains(part) == true, "\(String(describing: error))")
    #expect(error?.message.contains("TOP") == false)
  }

  @Test func printingShowsNoSecret() throws {
    let address = try S3Address(url: "s3+https://the-key:the-secret@h/abc")
    var dumped = ""
    dump(address, to: &dumped)
    for text in ["\(address)", String(reflecting: address), dumped, address.name] {
      #expect(!text.contains("the-secret") && !text.contains("the-key"))
    }
  }
}
