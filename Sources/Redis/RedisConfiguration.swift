/// Where the server is and how long to wait for it.
public struct RedisConfiguration: Sendable {
  public enum Endpoint: Hashable, Sendable {
    case tcp(host: String, port: Int)
    case unix(path: String)
  }

  public var endpoint: Endpoint
  /// The user of an access control list; nil is the server's default user.
  public var user: String?
  /// Secret: it goes into `AUTH` and nowhere else.
  public var password: String?
  /// Selected when connected; 0 needs no command.
  public var database: Int
  /// What `CLIENT LIST` shows.
  public var clientName = "fanmill"
  /// How long connecting may take, names resolved and password checked; and how long a command waits for a connection.
  public var connectTimeout: Duration = .seconds(3)
  /// How long a command may wait for its reply, unless it is sent with a limit of its own.
  public var commandTimeout: Duration = .seconds(5)
  /// How many commands may wait for a connection at once; more fail immediately.
  public var waitingLimit = 10_000

  public init(_ endpoint: Endpoint, user: String? = nil, password: String? = nil, database: Int = 0) {
    self.endpoint = endpoint
    self.user = user
    self.password = password
    self.database = database
  }

  /// The server's name for logs and messages: a URL without user and password.
  public var displayName: String {
    switch endpoint {
    case .tcp(let host, let port): "redis://\(host.contains(":") ? "[\(host)]" : host):\(port)/\(database)"
    case .unix(let path): "unix://\(path)" + (database == 0 ? "" : "?db=\(database)")
    }
  }
}
