import CLibPQ

/// Where a server is and how long to wait for it.
public struct PostgresConfiguration: Sendable {
  /// A host name, an address, or the folder of a unix socket; nil is libpq's default.
  public var host: String?
  public var port: Int?
  public var user: String?
  /// Never printed.
  public var password: String?
  public var database: String?
  /// Further libpq settings by keyword, such as `sslmode` or `options`.
  public var settings: [String: String] = [:]
  public var applicationName = "fanmill"

  /// From the first look-up of the name to a usable connection.
  public var connectTimeout: Duration = .seconds(5)
  /// How long a statement may take where the call says nothing else; nil is for ever.
  public var queryTimeout: Duration? = .seconds(60)
  /// How long a cancelled statement may take to end before its connection is given up.
  public var cancelTimeout: Duration = .seconds(5)
  /// How many prepared statements a connection keeps.
  public var preparedStatements = 256

  public init() {}

  /// Reads what libpq reads: `postgres://user:password@host:port/database?sslmode=require`,
  /// `postgresql:///database?host=/folder/of/the/socket`, or `host=/folder dbname=database`.
  ///
  /// - Throws: `.configuration`, saying what is wrong without repeating the URL, which may hold a password.
  public init(url: String) throws(PostgresError) {
    var reason: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(url, &reason) else {
      var text = reason.map { String(cString: $0) } ?? "out of memory"
      PQfreemem(reason)
      if let quote = text.firstIndex(of: "\"") { text = String(text[..<quote]) }
      throw PostgresError(
        .configuration,
        "the Postgres URL cannot be read (\(text.trimmed)); it looks like postgres://user:password@host:port/database")
    }
    defer { PQconninfoFree(options) }
    var option = options
    while let keyword = option.pointee.keyword {
      defer { option += 1 }
      guard let pointer = option.pointee.val else { continue }
      let value = String(cString: pointer)
      switch String(cString: keyword) {
      case "host": host = value
      case "port": port = try Self.port(value)
      case "user": user = value
      case "password": password = value
      case "dbname": database = value
      case "application_name": applicationName = value
      case "connect_timeout":
        if let seconds = Int(value), seconds > 0 { connectTimeout = .seconds(seconds) }
      case let other: settings[other] = value
      }
    }
    if host?.contains(",") == true {
      throw PostgresError(.configuration, "the Postgres URL names several hosts; name one")
    }
  }

  private static func port(_ text: String) throws(PostgresError) -> Int {
    guard let port = Int(text), 1...65535 ~= port else {
      throw PostgresError(.configuration, "the Postgres URL's port must be one number from 1 to 65535")
    }
    return port
  }

  /// The host's name, if there is one to look up.
  var nameToResolve: String? {
    guard settings["hostaddr"] == nil, let host, !host.isEmpty, !host.hasPrefix("/"), !host.hasPrefix("@") else {
      return nil
    }
    return host
  }

  /// Keywords and values for libpq; `address` is where `host` was found.
  func keywords(address: String?) -> [(String, String)] {
    var result: [(String, String)] = settings.map { ($0.key, $0.value) }
    if let host { result.append(("host", host)) }
    if let address { result.append(("hostaddr", address)) }
    if let port { result.append(("port", String(port))) }
    if let user { result.append(("user", user)) }
    if let password { result.append(("password", password)) }
    if let database { result.append(("dbname", database)) }
    result.append(("application_name", applicationName))
    result.append(("client_encoding", "UTF8"))
    // Kerberos libraries block and nobody here uses them.
    if settings["gssencmode"] == nil { result.append(("gssencmode", "disable")) }
    return result
  }

  /// The server in words, for messages.
  var place: String { "\(host ?? "the default socket")\(port.map { ":\($0)" } ?? "")" }
}

extension String {
  /// Without white space and colons at its ends: libpq's messages have both.
  var trimmed: String {
    var text = self[...]
    while let last = text.last, last.isWhitespace || last == ":" { text.removeLast() }
    while let first = text.first, first.isWhitespace { text.removeFirst() }
    return String(text)
  }
}
