import Foundation
import LibPQClient

/// The progress of a post's fan-out.
public struct FanOutProgress: Sendable, Hashable {
  /// How a post reaches feeds.
  public enum Mode: String, Sendable {
    /// It is written into each follower's feed.
    case push
    /// It is read at query time; used for authors with very many followers.
    case pull
  }

  public let mode: Mode
  /// The number of followers to deliver to: an estimate until the fan-out starts, exact once it is done.
  public let followers: Int
  /// How many of them have the post in their feeds.
  public let delivered: Int
  public let isDone: Bool
  /// nil until it starts.
  public let startedAt: Date?
  public let finishedAt: Date?

  /// - Throws: `not_found` if the post does not exist.
  public static func of(
    _ post: Int, seenBy viewer: Int, in reader: some SocialReader
  ) async throws -> FanOutProgress {
    let rows = try await reader.rows(
      """
      SELECT coalesce(f.followers, (
          SELECT count(*) FROM (SELECT FROM follows WHERE followee_id = p.author_id LIMIT \(Accounts.countLimit)) x)),
        coalesce(f.delivered, 0), coalesce(f.started_at, CASE WHEN p.is_pulled THEN p.created_at END),
        coalesce(f.finished_at, CASE WHEN p.is_pulled THEN p.created_at END), p.is_pulled
      FROM posts p LEFT JOIN fan_outs f ON f.post_id = p.id WHERE p.id = \(post) AND \(Visibility.seesPost(viewer))
      """
    ).decode(Int.self, Int.self, Date?.self, Date?.self, Bool.self)
    guard let row = rows.first else { throw SocialError.notFound("post") }
    return FanOutProgress(
      mode: row.4 ? .pull : .push, followers: row.0, delivered: row.4 ? row.0 : row.1, isDone: row.3 != nil,
      startedAt: row.2, finishedAt: row.3)
  }
}
