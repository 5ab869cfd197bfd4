/// The addresses of the server or servers, and how long to wait for them.
public struct RedisConfiguration: Sendable {
  /// A server's address.
  public enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    case tcp(host: String, port: Int)
    case unix(path: String)

    /// `host:port`, with an IPv6 address in brackets; or the path.
    public var description: String {
      switch self {
      case .tcp(let host, let port): "\(host.contains(":") ? "[\(host)]" : host):\(port)"
      case .unix(let path): path
      }
    }
  }

  /// The kind of servers at the endpoints.
  public enum Topology: Hashable, Sendable {
    /// One server.
    case server
    /// Sentinels, which know the master of a name.
    case sentinel(Sentinel)
    /// Some nodes of a Redis Cluster, which know the others.
    case cluster
  }

  /// The master to ask the sentinels for, and the login.
  public struct Sentinel: Hashable, Sendable {
    /// The master's name at the sentinels.
    public var master: String
    public var user: String?
    /// Secret; separate from the servers' password.
    public var password: String?

    public init(master: String, user: String? = nil, password: String? = nil) {
      self.master = master
      self.user = user
      self.password = password
    }
  }

  public var endpoint: Endpoint
  /// Additional sentinels or nodes, tried if the first does not respond.
  public var otherEndpoints: [Endpoint] = []
  public var topology = Topology.server
  /// The ACL user; nil for the server's default user.
  public var user: String?
  /// Secret: used only in `AUTH`.
  public var password: String?
  /// Selected on connecting; 0 needs no command, and clusters have no other.
  public var database: Int
  /// The name in `CLIENT LIST`.
  public var clientName = "fanmill"
  /// The limit for connecting, including name resolution and authentication, and for a command that waits for a
  /// connection.
  public var connectTimeout: Duration = .seconds(3)
  /// How long a command waits for its reply, unless it has its own limit.
  public var commandTimeout: Duration = .seconds(5)
  /// The number of commands that may wait for a connection; further ones fail immediately.
  public var waitingLimit = 10_000
  /// nil for an unencrypted connection.
  var tls: RedisTLS?
  /// Whether to drop a server that reports that it is not a master.
  var expectsMaster = false

  public init(_ endpoint: Endpoint, user: String? = nil, password: String? = nil, database: Int = 0) {
    self.endpoint = endpoint
    self.user = user
    self.password = password
    self.database = database
  }

  /// All endpoints in the URL, in order.
  public var endpoints: [Endpoint] { [endpoint] + otherEndpoints }

  /// The server's name for logs and messages: the URL without user and password.
  public var displayName: String {
    let hosts = endpoints.map(\.description).joined(separator: ",")
    return switch topology {
    case .sentinel(let sentinel): "redis+sentinel://\(hosts)/\(sentinel.master)/\(database)"
    case .cluster: "redis+cluster://\(hosts)"
    case .server:
      switch endpoint {
      case .tcp: "\(tls == nil ? "redis" : "rediss")://\(hosts)/\(database)"
      case .unix(let path): "unix://\(path)" + (database == 0 ? "" : "?db=\(database)")
      }
    }
  }

  /// The TLS settings for the endpoint, with the name that its certificate must match.
  var tlsStart: (start: RedisTLS, host: String)? {
    guard let tls, case .tcp(let host, _) = endpoint else { return nil }
    return (tls, host)
  }

  /// The same configuration for one discovered server.
  func server(at endpoint: Endpoint) -> RedisConfiguration {
    var server = self
    server.endpoint = endpoint
    server.otherEndpoints = []
    server.topology = .server
    return server
  }
}
