import Social

/// How long a client's connection may last and how many there may be.
public struct ConnectionLimits: Sendable, Hashable {
  /// For the head of a request, from the connection, from its first byte, or from the end of the answer before it.
  public var head = Duration.seconds(10)
  /// For the body of a request, from the end of its head.
  public var body = Duration.seconds(30)
  /// Between requests, and for a client that reads nothing of its answer.
  public var idle = Duration.seconds(75)
  /// Connections in all.
  public var total = 10_000
  /// Connections of one client, by its network address; 0 for no limit of its own.
  public var perClient = 256
  /// Proxies: the connections of one carry many clients' requests, so `perClient` does not bound them.
  public var proxies = TrustedProxies.none

  public init() {}
}
