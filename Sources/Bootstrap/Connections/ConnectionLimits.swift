import Social

/// Limits on the duration and number of clients' connections.
public struct ConnectionLimits: Sendable, Hashable {
  /// For the head of a request, from the connection, from its first byte, or from the end of the previous response.
  public var head = Duration.seconds(10)
  /// For the body of a request, from the end of its head.
  public var body = Duration.seconds(30)
  /// Between requests, and for a client that does not read its response.
  public var idle = Duration.seconds(75)
  /// The total number of connections.
  public var total = 10_000
  /// Connections per client, by network address; 0 for no such limit.
  public var perClient = 256
  /// Proxies. Their connections carry many clients' requests, so `perClient` does not apply to them.
  public var proxies = TrustedProxies.none

  public init() {}
}
