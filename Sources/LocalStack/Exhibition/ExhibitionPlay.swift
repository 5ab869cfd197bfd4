import Foundation
import HTTPTypes

/// Plays the plan's steps through the API: posts, follows, likes, comments and messages.
struct ExhibitionPlay: Sendable {
  let plan: ExhibitionPlan
  let cast: ExhibitionCast
  let api: ExhibitionAPI

  private struct Created: Decodable { let id: Int }

  private struct Draft: Encodable {
    let title: String
    let description: String
    let media: [String]
  }

  private struct Said: Encodable { let text: String }

  private struct Seen: Encodable { let upTo: Int }

  private struct Notices: Decodable { let items: [Created] }

  private enum Deed: Sendable {
    case follow(ExhibitionPlan.Pair)
    case like(ExhibitionPlan.Pair)
    /// Comments on one post, one after the other.
    case thread([ExhibitionPlan.Comment])
  }

  /// - Parameters:
  ///   - media: the ids of each post's pictures.
  ///   - progress: receives the number of steps played so far.
  /// - Returns: the posts' ids, in order.
  func run(media: [[String]], progress: @Sendable (Int) -> Void) async throws -> [Int] {
    var posts: [Int] = []
    // The last message that came to the visitor, by conversation.
    var received: [Int: Created] = [:]
    for (number, step) in plan.steps.enumerated() {
      posts.append(try await post(number, media[number]))
      let made = posts
      try await deeds(of: step).concurrently { try await perform($0, posts: made) }
      for message in step.messages {
        if message.sender == ExhibitionPlan.visitor, let last = received[message.talk] {
          try await read(last, from: message.recipient)
        }
        let sent = try await send(message)
        if message.recipient == ExhibitionPlan.visitor { received[message.talk] = sent }
      }
      if step.isChecked { try await check() }
      progress(number + 1)
    }
    for message in plan.steps.flatMap(\.messages) where message.recipient == ExhibitionPlan.visitor {
      guard !plan.unreadTalks.contains(message.talk), let last = received[message.talk] else { continue }
      received[message.talk] = nil
      try await read(last, from: message.sender)
    }
    return posts
  }

  private func deeds(of step: ExhibitionPlan.Step) -> [Deed] {
    let threads = Dictionary(grouping: step.comments, by: \.post).sorted { $0.key < $1.key }
    return step.follows.map(Deed.follow) + threads.map { Deed.thread($0.value) } + step.likes.map(Deed.like)
  }

  private func post(_ number: Int, _ media: [String]) async throws -> Int {
    let post = plan.posts[number]
    return try await api.send(
      .post, "posts", as: cast.callers[post.author], key: "demo-post-\(number)",
      json: Draft(title: post.title, description: post.description, media: media), expecting: 201
    ).decode(Created.self).id
  }

  private func perform(_ deed: Deed, posts: [Int]) async throws {
    switch deed {
    case .follow(let pair):
      let name = plan.students[pair.other].username
      try await api.send(.put, "users/\(name)/follow", as: cast.callers[pair.account], expecting: 204)
    case .like(let pair):
      try await api.send(.put, "posts/\(posts[pair.other])/like", as: cast.callers[pair.account], expecting: 204)
    case .thread(let comments):
      for comment in comments {
        try await api.send(
          .post, "posts/\(posts[comment.post])/comments", as: cast.callers[comment.writer],
          key: "demo-comment-\(comment.post)-\(comment.number)", json: Said(text: comment.text), expecting: 201)
      }
    }
  }

  // MARK: Messages and notifications

  private func send(_ message: ExhibitionPlan.Message) async throws -> Created {
    try await api.send(
      .post, "conversations/\(plan.students[message.recipient].username)/messages",
      as: cast.callers[message.sender], key: "demo-message-\(message.talk)-\(message.number)",
      json: Said(text: message.text), expecting: 201
    ).decode(Created.self)
  }

  /// The visitor reads a conversation up to a message.
  private func read(_ message: Created, from sender: Int) async throws {
    try await api.send(
      .post, "conversations/\(plan.students[sender].username)/read", as: cast.callers[ExhibitionPlan.visitor],
      json: Seen(upTo: message.id), expecting: 200)
  }

  /// The visitor looks at the notifications.
  private func check() async throws {
    let visitor = cast.callers[ExhibitionPlan.visitor]
    let newest = try await api.send(.get, "notifications?limit=1", as: visitor, expecting: 200).decode(Notices.self)
    guard let item = newest.items.first else { return }
    try await api.send(
      .post, "notifications/checked", as: visitor, json: Seen(upTo: item.id), expecting: 200)
  }
}
