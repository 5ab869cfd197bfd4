/// The reason why a command, a connection or a setting failed.
public struct RedisError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure. Handle known kinds and add a default case: more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String { case connection, timeout, server, cancelled, closed, configuration, `protocol` }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    /// The server is unreachable or went away. A command in flight may or may not have been executed.
    public static let connection = Code(.connection)
    /// No reply in time. The command may or may not have been executed; the connection is closed and replaced.
    public static let timeout = Code(.timeout)
    /// The server replied with an error; `RedisError.serverPrefix` tells which.
    public static let server = Code(.server)
    /// The waiting task was cancelled. The command may or may not have been executed.
    public static let cancelled = Code(.cancelled)
    /// The owner closed the client or connection.
    public static let closed = Code(.closed)
    /// A setting is wrong: the URL, the password, the database number, or a command that this client does not support.
    public static let configuration = Code(.configuration)
    /// A malformed reply.
    public static let `protocol` = Code(.protocol)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// The cause, the place and the remedy. Never contains a password or a command's arguments.
  public let message: String
  /// The first word of the server's error reply, such as `NOSCRIPT`, `OOM` or `NOGROUP`.
  public let serverPrefix: String?
  /// Whether the command was certainly not sent, so that another server may get it.
  let isUnsent: Bool

  public init(_ code: Code, _ message: String, serverPrefix: String? = nil) {
    self.init(code, message, serverPrefix: serverPrefix, isUnsent: false)
  }

  init(_ code: Code, _ message: String, serverPrefix: String? = nil, isUnsent: Bool) {
    self.code = code
    self.message = message
    self.serverPrefix = serverPrefix
    self.isUnsent = isUnsent
  }

  /// Whether the server that replied is the wrong one, or no longer the right one: a demoted master, or a cluster node
  /// that gave the keys away. A dedicated connection should then be reopened.
  public var meansAnotherServer: Bool {
    switch serverPrefix {
    case "READONLY", "MOVED": true
    default: false
    }
  }

  /// Whether a cluster is moving the keys to another node, or just has. The command was not executed, and can be
  /// retried soon.
  public var meansKeysMove: Bool {
    switch serverPrefix {
    case "MOVED", "ASK", "TRYAGAIN": true
    default: false
    }
  }

  /// An error reply, as sent by the server.
  public init(serverReply text: String) {
    let prefix = text.prefix { $0 != " " }
    self.init(.server, text, serverPrefix: prefix.isEmpty ? nil : String(prefix))
  }

  public var description: String { "Redis \(code): \(message)" }

  static let cancelled = RedisError(.cancelled, "the task waiting for the reply was cancelled")
  static let closed = RedisError(.closed, "the connection was closed on this side")
}
