/// Where the server is, or the servers are, and how long to wait for them.
public struct RedisConfiguration: Sendable {
  /// Where a server listens.
  public enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    case tcp(host: String, port: Int)
    case unix(path: String)

    /// `host:port`, an IPv6 address in brackets; or the path.
    public var description: String {
      switch self {
      case .tcp(let host, let port): "\(host.contains(":") ? "[\(host)]" : host):\(port)"
      case .unix(let path): path
      }
    }
  }

  /// What stands behind the endpoints.
  public enum Topology: Hashable, Sendable {
    /// One server.
    case server
    /// Sentinels, which know who is the master of a name.
    case sentinel(Sentinel)
    /// Some nodes of a Redis Cluster, which know all the others.
    case cluster
  }

  /// What the sentinels are asked for and who asks.
  public struct Sentinel: Hashable, Sendable {
    /// The name under which they watch the master.
    public var master: String
    public var user: String?
    /// Secret, and another one than the servers'.
    public var password: String?

    public init(master: String, user: String? = nil, password: String? = nil) {
      self.master = master
      self.user = user
      self.password = password
    }
  }

  public var endpoint: Endpoint
  /// Further sentinels or nodes, asked where the first does not answer.
  public var otherEndpoints: [Endpoint] = []
  public var topology = Topology.server
  /// The user of an access control list; nil is the server's default user.
  public var user: String?
  /// Secret: it goes into `AUTH` and nowhere else.
  public var password: String?
  /// Selected when connected; 0 needs no command, and a cluster has no other.
  public var database: Int
  /// What `CLIENT LIST` shows.
  public var clientName = "fanmill"
  /// How long connecting may take, names resolved and password checked; and how long a command waits for a connection.
  public var connectTimeout: Duration = .seconds(3)
  /// How long a command may wait for its reply, unless it is sent with a limit of its own.
  public var commandTimeout: Duration = .seconds(5)
  /// How many commands may wait for a connection at once; more fail immediately.
  public var waitingLimit = 10_000
  /// nil for a connection that is not encrypted.
  var tls: RedisTLS?
  /// Whether a server that says it is no master is left again.
  var expectsMaster = false

  public init(_ endpoint: Endpoint, user: String? = nil, password: String? = nil, database: Int = 0) {
    self.endpoint = endpoint
    self.user = user
    self.password = password
    self.database = database
  }

  /// All that the URL names, in its order.
  public var endpoints: [Endpoint] { [endpoint] + otherEndpoints }

  /// The server's name for logs and messages: a URL without user and password.
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

  /// What encrypts a connection to the endpoint, whose name the certificate must bear.
  var tlsStart: (start: RedisTLS, host: String)? {
    guard let tls, case .tcp(let host, _) = endpoint else { return nil }
    return (tls, host)
  }

  /// The same for one server that was found.
  func server(at endpoint: Endpoint) -> RedisConfiguration {
    var server = self
    server.endpoint = endpoint
    server.otherEndpoints = []
    server.topology = .server
    return server
  }
}
