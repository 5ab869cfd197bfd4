extension FanmillClient {
  public var feed: Feed { Feed(sender: sender) }

  /// `feed`: posts, newest first.
  public struct Feed: Sendable {
    let sender: RequestSender

    /// Everybody's posts.
    ///
    /// - Parameter limit: the most items of a page, from 1 to 100; nil for 20.
    public func home(limit: Int? = nil) -> Pages<Post> {
      sender.pages(APIRequest(.get, ["feed", "home"]), limit: limit)
    }

    /// The posts of the accounts that the signed-in one follows.
    ///
    /// - Parameter includesOwn: whether the account's own posts are among them.
    public func following(includesOwn: Bool = false, limit: Int? = nil) -> Pages<Post> {
      sender.pages(
        APIRequest(.get, ["feed", "following"], query: [("own", includesOwn ? "true" : nil)]), limit: limit)
    }
  }
}
