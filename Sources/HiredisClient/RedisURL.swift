internal import CHiredis

/// The version of hiredis in the build.
let hiredisVersion = "\(HIREDIS_MAJOR).\(HIREDIS_MINOR).\(HIREDIS_PATCH)"

/// A parsed URL: the parts common to all schemes.
struct RedisURL {
  let scheme: String
  private(set) var user: String?
  private(set) var password: String?
  /// The hosts as written.
  let authority: Substring
  /// The text from the first slash on.
  let path: Substring
  private let query: [(key: Substring, value: Substring)]

  init(_ url: String) throws(RedisError) {
    guard let schemeEnd = url.firstRange(of: "://") else {
      throw Self.wrong("it has no scheme; write redis://host:6379/0 or unix:///path/to/redis.sock")
    }
    scheme = url[..<schemeEnd.lowerBound].lowercased()
    var rest = url[schemeEnd.upperBound...]
    if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
    query = (Self.split(&rest, at: "?") ?? "").split(separator: "&").map { pair in
      var key = pair
      let value = Self.split(&key, at: "=") ?? ""
      return (key, value)
    }
    var hosts = rest
    if let slash = rest.firstIndex(of: "/") {
      hosts = rest[..<slash]
      path = rest[slash...]
    } else {
      path = ""
    }
    if let at = hosts.lastIndex(of: "@") {
      var credentials = hosts[..<at]
      hosts = hosts[hosts.index(after: at)...]
      let secret = Self.split(&credentials, at: ":")
      if !credentials.isEmpty { user = try Self.decode(credentials, "the user") }
      if let secret { password = try Self.decode(secret, "the password") }
    }
    authority = hosts
    if user != nil, password == nil {
      throw Self.wrong("there is a user but no password; write user:password@host, or :password@host without a user")
    }
  }

  // MARK: Hosts

  /// The comma-separated hosts.
  func endpoints(port fallback: Int, example: String) throws(RedisError) -> [RedisConfiguration.Endpoint] {
    var endpoints: [RedisConfiguration.Endpoint] = []
    for entry in authority.split(separator: ",", omittingEmptySubsequences: false) {
      endpoints.append(try Self.endpoint(entry, fallback, example))
    }
    guard !endpoints.isEmpty else { throw Self.wrong("it names no host; write \(example)") }
    return endpoints
  }

  private static func endpoint(
    _ entry: Substring, _ fallback: Int, _ example: String
  ) throws(RedisError) -> RedisConfiguration.Endpoint {
    var host = entry
    var port: Substring?
    if entry.first == "[" {
      guard let close = entry.firstIndex(of: "]") else { throw wrong("the IPv6 address has no closing bracket") }
      host = entry[entry.index(after: entry.startIndex)..<close]
      let after = entry[entry.index(after: close)...]
      guard after.isEmpty || after.first == ":" else { throw wrong("only :port may follow the IPv6 address") }
      if !after.isEmpty { port = after.dropFirst() }
    } else {
      port = split(&host, at: ":")
    }
    guard !host.isEmpty else { throw wrong("it names no host; write \(example)") }
    guard let port else { return .tcp(host: String(host), port: fallback) }
    guard let number = Int(port), (1...65535).contains(number) else {
      throw wrong("the port \"\(port)\" is not a number from 1 to 65535")
    }
    return .tcp(host: String(host), port: number)
  }

  // MARK: Database and query

  /// The database from the path, else from the query, else 0.
  func database() throws(RedisError) -> Int {
    if path.count > 1 { return try Self.database(path.dropFirst()) }
    return try queriedDatabase() ?? 0
  }

  func queriedDatabase() throws(RedisError) -> Int? {
    guard let pair = query.first(where: { $0.key == "db" }) else { return nil }
    return try Self.database(pair.value)
  }

  static func database(_ text: Substring) throws(RedisError) -> Int {
    guard let number = Int(text), number >= 0 else {
      throw wrong("the database \"\(text)\" is not a number from 0")
    }
    return number
  }

  /// - Throws: if the files cannot be used, and in a build without TLS.
  func tls() throws(RedisError) -> RedisTLS {
    try allow(query: ["db", "ca", "cert", "key"])
    let (certificate, key) = (try value("cert"), try value("key"))
    guard (certificate == nil) == (key == nil) else {
      throw Self.wrong("a certificate needs its key: ?cert=FILE&key=FILE")
    }
    return try RedisTLS(authorities: try value("ca"), certificate: certificate, key: key)
  }

  func value(_ key: String) throws(RedisError) -> String? {
    guard let pair = query.first(where: { $0.key == key }) else { return nil }
    return try Self.decode(pair.value, key)
  }

  /// Refuses parameters other than `keys`: a misspelt one would silently have no effect.
  func allow(query keys: [String]) throws(RedisError) {
    guard let strange = query.first(where: { pair in !keys.contains { $0 == pair.key } }) else { return }
    throw Self.wrong(
      "\(scheme):// does not take \"\(strange.key)\" in the query; it takes \(keys.joined(separator: ", "))")
  }

  // MARK: Text

  /// Cuts `text` at the first `mark` and returns the rest.
  private static func split(_ text: inout Substring, at mark: Character) -> Substring? {
    guard let index = text.firstIndex(of: mark) else { return nil }
    let behind = text[text.index(after: index)...]
    text = text[..<index]
    return behind
  }

  static func decode(_ text: Substring, _ part: String) throws(RedisError) -> String {
    var bytes: [UInt8] = []
    var source = text.utf8.makeIterator()
    while let byte = source.next() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = source.next().flatMap(hexValue), let low = source.next().flatMap(hexValue) else {
        throw wrong("\(part) has a % without two hexadecimal digits after it; write %25 for a percent sign")
      }
      bytes.append(high << 4 | low)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self), !decoded.utf8.contains(0) else {
      throw wrong("\(part) is not UTF-8 text")
    }
    return decoded
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 48
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 87
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 55
    default: nil
    }
  }

  static func wrong(_ what: String) -> RedisError {
    RedisError(.configuration, "the Redis URL is not usable: \(what)")
  }
}
