extension FanmillClient {
  public var likes: Likes { Likes(sender: sender) }

  /// `posts/ID/like` and `me/likes`.
  public struct Likes: Sendable {
    let sender: RequestSender

    /// Likes a post. May be repeated.
    ///
    /// - Throws: `not_found`, `rate_limited`.
    public func add(_ post: Post.ID) async throws {
      try await sender.send(APIRequest(.put, ["posts", String(post), "like"]))
    }

    /// Takes a like back. May be repeated.
    ///
    /// - Throws: `not_found`.
    public func remove(_ post: Post.ID) async throws {
      try await sender.send(APIRequest(.delete, ["posts", String(post), "like"]))
    }

    /// The posts that the signed-in account likes, the latest like first.
    public func list(limit: Int? = nil) -> Pages<Post> {
      sender.pages(APIRequest(.get, ["me", "likes"]), limit: limit)
    }
  }
}
