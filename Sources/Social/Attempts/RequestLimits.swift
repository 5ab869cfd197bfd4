/// How much of each kind an account, or a client, may do in an hour; 0 is as much as it likes.
public struct RequestLimits: Sendable, Hashable {
  public var posts = 60
  public var follows = 300
  public var likes = 1000
  public var comments = 300
  /// Lookups that are begun; what is kept is answered for nothing.
  public var lookups = 30
  /// Accounts that a client asks for.
  public var signUps = 20

  public var uploads = 100
  /// Upload tokens that a client asks for.
  public var uploadTokens = 20

  public init() {}
}
