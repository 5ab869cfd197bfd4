import CLibPQ

/// The address of a server, or of several of which one is the primary, and how long to wait for it.
public struct PostgresConfiguration: Sendable {
  /// One server of several.
  public struct Server: Sendable, Hashable, CustomStringConvertible {
    /// A host name, an address, or the folder of a unix socket; nil is libpq's default.
    public var host: String?
    public var port: Int?
    /// The host's address, to skip resolving its name.
    public var address: String?

    public init(host: String? = nil, port: Int? = nil, address: String? = nil) {
      self.host = host
      self.port = port
      self.address = address
    }

    /// The server's name in messages.
    public var description: String { "\(host ?? address ?? "the default socket")\(port.map { ":\($0)" } ?? "")" }
  }

  /// Each new connection tries them in this order, so that it finds the primary after a failover.
  public private(set) var servers = [Server()]
  /// The first server's.
  public var host: String? {
    get { servers[0].host }
    set { servers[0].host = newValue }
  }
  /// The first server's.
  public var port: Int? {
    get { servers[0].port }
    set { servers[0].port = newValue }
  }
  /// The role that a server must have.
  public var sessionAttributes = SessionAttributes.any
  public var user: String?
  /// Never printed.
  public var password: String?
  public var database: String?
  /// Additional libpq settings by keyword, such as `sslmode` or `options`.
  public var settings: [String: String] = [:]
  public var applicationName = "fanmill"

  /// From resolving the name to a usable connection.
  public var connectTimeout: Duration = .seconds(5)
  /// The limit for a statement, unless the call has its own; nil for no limit.
  public var queryTimeout: Duration? = .seconds(60)
  /// How long a cancelled statement may take to end before its connection is dropped.
  public var cancelTimeout: Duration = .seconds(5)
  /// The number of prepared statements that a connection keeps.
  public var preparedStatements = 256

  public init() {}

  /// The values of `target_session_attrs`; the words are libpq's.
  public enum SessionAttributes: String, Sendable, CaseIterable {
    case any
    /// The server accepts writes.
    case readWrite = "read-write"
    case readOnly = "read-only"
    /// The server is not in recovery.
    case primary
    /// The server is in recovery.
    case standby
    /// A standby if there is one, else any server.
    case preferStandby = "prefer-standby"
  }

  /// Accepts libpq's formats: `postgres://user:password@host:port/database?sslmode=require`,
  /// `postgres://user:password@a:5432,b:5432/database?target_session_attrs=read-write` for a primary and its standbys,
  /// `postgresql:///database?host=/folder/of/the/socket`, or `host=/folder dbname=database`.
  ///
  /// - Throws: `.configuration` with the error, but without the URL, which may contain a password.
  ///
  /// - Parameter several: the required role if the URL names several servers and no role.
  public init(url: String, several: SessionAttributes = .readWrite) throws(PostgresError) {
    var reason: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(url, &reason) else {
      var text = reason.map { String(cString: $0) } ?? "out of memory"
      PQfreemem(reason)
      // The rest may contain the password.
      if let quote = text.firstIndex(of: "\"") { text = String(text[..<quote]) }
      if text.hasPrefix("missing") { text = "it is neither a URL nor a list of settings such as host=…" }
      throw PostgresError(
        .configuration,
        "the Postgres URL cannot be read (\(text.trimmed)); it looks like postgres://user:password@host:port/database")
    }
    defer { PQconninfoFree(options) }
    var option = options
    var (hosts, ports, addresses): ([String], [String], [String]) = ([], [], [])
    var attributes: SessionAttributes?
    while let keyword = option.pointee.keyword {
      defer { option += 1 }
      guard let pointer = option.pointee.val else { continue }
      let value = String(cString: pointer)
      switch String(cString: keyword) {
      case "host": hosts = Self.list(value)
      case "hostaddr": addresses = Self.list(value)
      case "port": ports = Self.list(value)
      case "target_session_attrs":
        attributes = SessionAttributes(rawValue: value)
        if attributes == nil {
          let words = SessionAttributes.allCases.map(\.rawValue).joined(separator: ", ")
          throw PostgresError(.configuration, "the Postgres URL's target_session_attrs is not one of \(words)")
        }
      case "user": user = value
      case "password": password = value
      case "dbname": database = value
      case "application_name": applicationName = value
      case "connect_timeout":
        if let seconds = Int(value), seconds > 0 { connectTimeout = .seconds(seconds) }
      case let other: settings[other] = value
      }
    }
    servers = try Self.servers(hosts, ports, addresses)
    sessionAttributes = attributes ?? (servers.count > 1 ? several : .any)
  }

  private static func list(_ value: String) -> [String] {
    value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }

  /// Combined as in libpq: the lists have equal lengths, or a single port applies to all.
  private static func servers(
    _ hosts: [String], _ ports: [String], _ addresses: [String]
  ) throws(PostgresError) -> [Server] {
    let count = max(hosts.count, addresses.count, 1)
    guard hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count else {
      throw PostgresError(
        .configuration, "the Postgres URL names \(hosts.count) hosts and \(addresses.count) addresses for them")
    }
    guard ports.count <= 1 || ports.count == count else {
      throw PostgresError(
        .configuration, "the Postgres URL names \(ports.count) ports for \(count) hosts; write one each, or one for all"
      )
    }
    var servers: [Server] = []
    for index in 0..<count {
      var server = Server()
      if index < hosts.count, !hosts[index].isEmpty { server.host = hosts[index] }
      if index < addresses.count, !addresses[index].isEmpty { server.address = addresses[index] }
      if let text = ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : nil, !text.isEmpty {
        server.port = try port(text)
      }
      servers.append(server)
    }
    return servers
  }

  private static func port(_ text: String) throws(PostgresError) -> Int {
    guard let port = Int(text), 1...65535 ~= port else {
      throw PostgresError(.configuration, "the Postgres URL's port must be one number from 1 to 65535")
    }
    return port
  }

  /// The same configuration for only one of the servers.
  func only(_ server: Server, _ attributes: SessionAttributes) -> PostgresConfiguration {
    var only = self
    only.servers = [server]
    only.sessionAttributes = attributes
    return only
  }

  /// The host name to resolve, if any.
  var nameToResolve: String? {
    guard servers[0].address == nil, let host, !host.isEmpty, !host.hasPrefix("/"), !host.hasPrefix("@") else {
      return nil
    }
    return host
  }

  /// Keywords and values for libpq and the first server; `address` is the resolved address of `host`.
  func keywords(address: String?) -> [(String, String)] {
    var result: [(String, String)] = settings.map { ($0.key, $0.value) }
    if let host { result.append(("host", host)) }
    if let address = address ?? servers[0].address { result.append(("hostaddr", address)) }
    if sessionAttributes != .any { result.append(("target_session_attrs", sessionAttributes.rawValue)) }
    // A server whose machine is gone sends nothing: a connection waits ten seconds for it.
    for (name, value) in [
      ("tcp_user_timeout", "10000"), ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
    ] where settings[name] == nil { result.append((name, value)) }
    if let port { result.append(("port", String(port))) }
    if let user { result.append(("user", user)) }
    if let password { result.append(("password", password)) }
    if let database { result.append(("dbname", database)) }
    result.append(("application_name", applicationName))
    result.append(("client_encoding", "UTF8"))
    // Kerberos libraries block, and Fanmill does not need them.
    if settings["gssencmode"] == nil { result.append(("gssencmode", "disable")) }
    return result
  }

  /// The server or servers, for messages.
  public var place: String { servers.map(\.description).joined(separator: " or ") }
}

extension String {
  /// The text without whitespace and colons at its ends: libpq's messages have both.
  var trimmed: String {
    var text = self[...]
    while let last = text.last, last.isWhitespace || last == ":" { text.removeLast() }
    while let first = text.first, first.isWhitespace { text.removeFirst() }
    return String(text)
  }
}
