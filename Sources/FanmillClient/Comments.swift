import Foundation

/// A comment on a post.
public struct PostComment: Sendable, Hashable, Codable, Identifiable {
  /// Grows with time.
  public var id: Int
  public var author: Account
  public var text: String
  public var createdAt: Date

  public init(id: Int, author: Account, text: String, createdAt: Date) {
    self.id = id
    self.author = author
    self.text = text
    self.createdAt = createdAt
  }
}

extension FanmillClient {
  public var comments: Comments { Comments(sender: sender) }

  /// `posts/ID/comments`.
  public struct Comments: Sendable {
    let sender: RequestSender

    /// The order of a list.
    public enum Order: String, Sendable, Hashable, Codable, CaseIterable {
      case newest
      case oldest
    }

    private struct Draft: Encodable { var text: String }

    /// - Parameters:
    ///   - text: 1 to 2,000 characters.
    ///   - key: repeats a call that has thrown; see ``FanmillClient``.
    /// - Throws: `not_found`, `invalid_text`, `rate_limited`.
    @discardableResult
    public func create(on post: Post.ID, text: String, key: UUID = UUID()) async throws -> PostComment {
      try await sender.value(
        APIRequest(.post, ["posts", String(post), "comments"], body: Draft(text: text)).keyed(key))
    }

    /// A post's comments, by default the newest first.
    public func list(on post: Post.ID, order: Order = .newest, limit: Int? = nil) -> Pages<PostComment> {
      sender.pages(
        APIRequest(.get, ["posts", String(post), "comments"], query: [("order", order.rawValue)]), limit: limit)
    }

    /// Deletes a comment of the signed-in account, or one on its post.
    ///
    /// - Throws: `not_yours`, `not_found`.
    public func delete(_ comment: PostComment.ID, on post: Post.ID) async throws {
      try await sender.send(APIRequest(.delete, ["posts", String(post), "comments", String(comment)]))
    }
  }
}
