/// Why a command, a connection or a setting failed.
public struct RedisError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure. Switch over the ones you treat apart and give the rest a default: more may come.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String { case connection, timeout, server, cancelled, closed, configuration, `protocol` }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    /// The server is not reachable or went away. A command that was on its way may or may not have been carried out.
    public static let connection = Code(.connection)
    /// No reply in time. The command may or may not have been carried out; the connection is closed and replaced.
    public static let timeout = Code(.timeout)
    /// The server answered with an error; `RedisError.serverPrefix` says which.
    public static let server = Code(.server)
    /// The task that waited was cancelled. The command may or may not have been carried out.
    public static let cancelled = Code(.cancelled)
    /// The client or connection was closed by its owner.
    public static let closed = Code(.closed)
    /// A setting is wrong: the URL, the password, the database number, or a command that this client does not carry.
    public static let configuration = Code(.configuration)
    /// A reply that is not what it should be.
    public static let `protocol` = Code(.protocol)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// What was wrong, where, and what to do about it. Never holds a password or a command's arguments.
  public let message: String
  /// The first word of the server's error reply, such as `NOSCRIPT`, `OOM` or `NOGROUP`.
  public let serverPrefix: String?
  /// Whether the command certainly never left, so that it may go to another server.
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

  /// Whether the server that answered is not, or not any more, the one for what was asked of it: a demoted master, or a
  /// cluster's node that gave the keys away. A connection of one's own should then be made anew.
  public var meansAnotherServer: Bool {
    switch serverPrefix {
    case "READONLY", "MOVED": true
    default: false
    }
  }

  /// Whether a cluster is about to carry the keys from one node to another, or just has: what was asked for was not
  /// done, and can be before long.
  public var meansKeysMove: Bool {
    switch serverPrefix {
    case "MOVED", "ASK", "TRYAGAIN": true
    default: false
    }
  }

  /// An error reply, as the server wrote it.
  public init(serverReply text: String) {
    let prefix = text.prefix { $0 != " " }
    self.init(.server, text, serverPrefix: prefix.isEmpty ? nil : String(prefix))
  }

  public var description: String { "Redis \(code): \(message)" }

  static let cancelled = RedisError(.cancelled, "the task that waited for the reply was cancelled")
  static let closed = RedisError(.closed, "the connection was closed on this side")
}
