/// Hourly limits per account or client, one for each kind of request; 0 means unlimited.
public struct RequestLimits: Sendable, Hashable {
  public var posts = 60
  public var follows = 300
  public var likes = 1000
  public var comments = 300
  /// Lookups started. Stored results do not count.
  public var lookups = 30
  /// Accounts requested by a client.
  public var signUps = 20

  public var uploads = 100
  /// Upload tokens requested by a client.
  public var uploadTokens = 20

  public init() {}
}
