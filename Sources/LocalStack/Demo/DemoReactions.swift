import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// The readers' actions on a post: they like it, comment on it and follow its author, who is notified.
struct DemoReactions: Sendable {
  let author: DemoAuthor
  let post: DemoPost

  private static let likes = 300
  private static let comments = 25
  private static let follows = 15
  /// The number of readers who finally take their like back.
  private static let unlikes = 50

  func play(on stage: DemoStage, _ pool: PostgresPool) async throws -> DemoReport.Reactions {
    let readers = try await pool.query(
      "SELECT follower_id FROM follows WHERE followee_id = \(author.id) ORDER BY 1 LIMIT \(Self.likes)"
    ).decode(Int.self)
    let strangers = try await pool.query(
      """
      SELECT id FROM accounts a WHERE id <> \(author.id)
        AND NOT EXISTS (SELECT FROM follows WHERE follower_id = a.id AND followee_id = \(author.id))
      ORDER BY id LIMIT \(Self.follows)
      """
    ).decode(Int.self)
    let path = "/v1/posts/\(post.id)"
    let start = ContinuousClock.now
    for reader in readers { try await stage.send("PUT", path + "/like", as: reader, expecting: 204) }
    for (number, reader) in readers.prefix(Self.comments).enumerated() {
      try await stage.send(
        "POST", path + "/comments", as: reader, json: ["text": "Comment \(number + 1)"], expecting: 201)
    }
    for stranger in strangers {
      try await stage.send("PUT", "/v1/users/\(author.username)/follow", as: stranger, expecting: 204)
    }
    let asked = start.duration(to: .now)
    let all = readers.count + min(Self.comments, readers.count) + strangers.count
    try await waitUntilUnread(all, on: stage)
    let notified = start.duration(to: .now)
    // Read now, before some likes are taken back.
    let page = try await stage.get("/v1/notifications?limit=100", as: author.id, Page.self)
    let newest = (0...2).compactMap { type in page.items.first { $0.type == type } }
    let takenBack = readers.suffix(Self.unlikes)
    for reader in takenBack { try await stage.send("DELETE", path + "/like", as: reader, expecting: 204) }
    try await waitUntilUnread(all - takenBack.count, on: stage)
    return DemoReport.Reactions(
      author: author.username, likes: readers.count, comments: min(Self.comments, readers.count),
      follows: strangers.count, unread: all, secondsAsked: asked / .seconds(1),
      secondsUntilNotified: max(0, (notified - asked) / .seconds(1)), items: newest.map(\.text),
      takenBack: takenBack.count, unreadAfter: all - takenBack.count)
  }

  /// Waits until the API reports exactly this count.
  private func waitUntilUnread(_ count: Int, on stage: DemoStage) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
      let unread = try await stage.get("/v1/notifications/unread", as: author.id, Unread.self).unread
      if unread == count { return }
      guard .now < deadline else {
        throw OperationError(.failed, "\(author.username) has \(unread) unread notifications instead of \(count)")
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  private struct Unread: Decodable { let unread: Int }

  private struct Page: Decodable { let items: [Item] }

  private struct Item: Decodable {
    let type: Int
    let username: String?
    let count: Int

    /// The text as an app could show it.
    var text: String {
      let actor = username ?? "somebody"
      let others = count > 1 ? " and \(count - 1) others" : ""
      switch type {
      case 0: return "\(actor)\(others) liked your post"
      case 1: return "\(actor) commented on your post"
      default: return "\(actor) follows you"
      }
    }
  }
}
