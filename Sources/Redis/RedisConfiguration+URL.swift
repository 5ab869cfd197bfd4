extension RedisConfiguration {
  /// Reads `redis://[user[:password]@]host[:port][/db]` or `unix://[user[:password]@]/path/to.sock[?db=N]`.
  ///
  /// User, password and path may be percent-encoded. `redis://:password@host` is a password without a user.
  ///
  /// - Throws: `.configuration`; the message names the part that is wrong and never repeats the password.
  public init(url: String) throws(RedisError) {
    guard let schemeEnd = url.firstRange(of: "://") else {
      throw Self.wrong("it has no scheme; write redis://host:6379/0 or unix:///path/to/redis.sock")
    }
    let scheme = url[..<schemeEnd.lowerBound].lowercased()
    var rest = url[schemeEnd.upperBound...]
    if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
    let query = Self.split(&rest, at: "?") ?? ""

    switch scheme {
    case "redis", "unix": break
    case "rediss", "valkeys":
      throw Self.wrong(
        "\(scheme):// asks for TLS, which this client does not speak; use redis:// to a TLS tunnel, or unix://")
    default:
      throw Self.wrong("the scheme \(scheme):// is unknown; use redis:// or unix://")
    }

    var authority = rest
    var path: Substring = ""
    if let slash = rest.firstIndex(of: "/") {
      authority = rest[..<slash]
      path = rest[slash...]
    }
    var user: String?
    var password: String?
    if let at = authority.lastIndex(of: "@") {
      var credentials = authority[..<at]
      authority = authority[authority.index(after: at)...]
      let secret = Self.split(&credentials, at: ":")
      if !credentials.isEmpty { user = try Self.decode(credentials, "the user") }
      if let secret { password = try Self.decode(secret, "the password") }
    }
    if user != nil, password == nil {
      throw Self.wrong("there is a user but no password; write user:password@host, or :password@host without a user")
    }

    if scheme == "unix" {
      guard authority.isEmpty, path.count > 1 else {
        throw Self.wrong("unix:// needs an absolute path, as in unix:///path/to/redis.sock")
      }
      let file = try Self.decode(path, "the path")
      // The kernel's limit for a socket's path, its end mark included, is 108 bytes; hiredis would cut the rest off.
      guard file.utf8.count < 108 else { throw Self.wrong("the socket's path is longer than 107 bytes") }
      self.init(.unix(path: file), user: user, password: password, database: try Self.database(query: query) ?? 0)
      return
    }
    let (host, port) = try Self.hostAndPort(authority)
    let number = try path.count > 1 ? Self.database(path.dropFirst()) : Self.database(query: query) ?? 0
    self.init(.tcp(host: host, port: port), user: user, password: password, database: number)
  }

  private static func hostAndPort(_ authority: Substring) throws(RedisError) -> (String, Int) {
    var host = authority
    var port: Substring?
    if authority.first == "[" {
      guard let close = authority.firstIndex(of: "]") else { throw wrong("the IPv6 address has no closing bracket") }
      host = authority[authority.index(after: authority.startIndex)..<close]
      let after = authority[authority.index(after: close)...]
      guard after.isEmpty || after.first == ":" else { throw wrong("after the IPv6 address only :port may follow") }
      if !after.isEmpty { port = after.dropFirst() }
    } else {
      port = split(&host, at: ":")
    }
    guard !host.isEmpty else { throw wrong("it names no host; write redis://host:6379") }
    guard let port else { return (String(host), 6379) }
    guard let number = Int(port), (1...65535).contains(number) else {
      throw wrong("the port \"\(port)\" is not a number from 1 to 65535")
    }
    return (String(host), number)
  }

  private static func database(query: Substring) throws(RedisError) -> Int? {
    for pair in query.split(separator: "&") where pair.hasPrefix("db=") { return try database(pair.dropFirst(3)) }
    return nil
  }

  private static func database(_ text: Substring) throws(RedisError) -> Int {
    guard let number = Int(text), number >= 0 else {
      throw wrong("the database \"\(text)\" is not a number from 0")
    }
    return number
  }

  /// Cuts `text` at the first `mark` and returns what stood behind it.
  private static func split(_ text: inout Substring, at mark: Character) -> Substring? {
    guard let index = text.firstIndex(of: mark) else { return nil }
    let behind = text[text.index(after: index)...]
    text = text[..<index]
    return behind
  }

  private static func decode(_ text: Substring, _ part: String) throws(RedisError) -> String {
    var bytes: [UInt8] = []
    var source = text.utf8.makeIterator()
    while let byte = source.next() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = source.next().flatMap(hexValue), let low = source.next().flatMap(hexValue) else {
        throw wrong("\(part) has a % that no two hexadecimal digits follow; write %25 for a percent sign")
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

  private static func wrong(_ what: String) -> RedisError {
    RedisError(.configuration, "the Redis URL is not usable: \(what)")
  }
}
