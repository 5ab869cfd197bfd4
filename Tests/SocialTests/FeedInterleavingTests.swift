import DurableJobs
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

/// Every pair of operations that change feeds, or what feeds should contain, in every order of their statements: in the
/// end each feed matches follows and posts.
@Suite(.timeLimit(.minutes(10))) struct FeedInterleavingTests {
  @Test(arguments: Plan.all)
  func everyOrderLeavesFeedsExact(plan: Plan) async throws {
    try await App.run { app in
      let stepped = try await SteppedTransactions.prepare(app, functions: ["deliver_post", "purge_post"])
      let stage = try await Stage(app: app, plan: plan)
      var walk = Walk(seed: .random(in: 0...(.max)))
      do {
        repeat {
          try await stage.set()
          let run = try await stepped.run {
            try await stage.perform(plan.first)
          } _: {
            try await stage.perform(plan.second)
          } choose: {
            // If both do the same, it does not matter which is first.
            walk.choose($0, plan.first == plan.second && $0 == 0 ? [$1[0]] : $1)
          }
          for error in run.errors {
            // For example, the other activity may have deleted the post before.
            try #require(error is SocialError, "\(plan), \(walk.describe(run)): \(error)")
          }
          try await stage.runJobs()
          let (missing, stale, pending) = try await stage.differences()
          try #require(
            (missing, stale, pending) == (0, 0, 0),
            "\(plan), \(walk.describe(run)): \(missing) missing, \(stale) stale rows, \(pending) pending")
        } while walk.advance()
      } catch {
        await stepped.close()
        throw error
      }
      await stepped.close()
      if !walk.isExhaustive { print("\(plan): drew orders with seed \(walk.seed)") }
    }
  }
}

/// The concurrent activities and the initial state.
struct Plan: Sendable, CustomTestStringConvertible, CustomStringConvertible {
  enum Operation: String, CaseIterable {
    case follow, unfollow, post, fanOut, delete, purge, backfill, rebuild
  }

  var first: Operation
  var second: Operation
  /// Whether the fan follows the author.
  var follows: Bool

  var description: String { "\(first.rawValue) beside \(second.rawValue)\(follows ? ", following" : "")" }
  var testDescription: String { description }

  static let all: [Plan] = Operation.allCases.enumerated().flatMap { index, first in
    Operation.allCases[index...].flatMap { second in
      [false, true].map { Plan(first: first, second: second, follows: $0) }
    }
  }

  func has(_ operation: Operation) -> Bool { first == operation || second == operation }
}

/// The orders of two activities' steps, one after the other: all of them if they are few, otherwise a random selection.
struct Walk {
  private static let maxCount = 150
  private static let drawn = 80

  let seed: UInt64
  private(set) var isExhaustive = true
  private var random: SeededGenerator
  private var prefix: [Int] = []
  private var choices: [Int] = []
  private var alternatives: [[Int]] = []
  private var runs = 0

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
  }

  mutating func choose(_ step: Int, _ ready: [Int]) -> Int {
    let chosen: Int =
      if !isExhaustive {
        ready[Int.random(in: ready.indices, using: &random)]
      } else if step < prefix.count {
        prefix[step]
      } else {
        ready[0]
      }
    choices.append(chosen)
    alternatives.append(ready)
    return chosen
  }

  /// - Returns: whether there is another order.
  mutating func advance() -> Bool {
    defer { (choices, alternatives) = ([], []) }
    runs += 1
    if isExhaustive, runs >= Self.maxCount { isExhaustive = false }
    guard isExhaustive else { return runs < Self.maxCount + Self.drawn }
    while let last = choices.popLast(), let ready = alternatives.popLast() {
      guard let next = ready.first(where: { $0 > last }) else { continue }
      prefix = choices + [next]
      return true
    }
    return false
  }

  func describe(_ run: SteppedTransactions.Run) -> String {
    "order \(run.choices.map(String.init).joined())\(isExhaustive ? "" : " (seed \(seed))")"
  }
}

/// An author with a post, a fan, and another follower.
private struct Stage {
  let app: App
  let plan: Plan
  let author: Int
  let fan: Int
  let other: Int

  init(app: App, plan: Plan) async throws {
    (self.app, self.plan) = (app, plan)
    author = try await app.account("author")
    fan = try await app.account("fan")
    other = try await app.account("other")
  }

  // Ids as they were given long ago; a new post's id is greater.
  private let old = 1
  private let fresh = 2
  private let purged = 3

  /// Restores the initial state.
  func set() async throws {
    let followers = plan.follows ? [fan, other] : [other]
    try await app.pool.pipeline(
      ["following_user_posts", "follows", "posts", "deleted_posts", "fan_outs", "jobs"].map {
        "DELETE FROM \(unescaped: $0)"
      } + [
        "INSERT INTO follows (follower_id, followee_id) SELECT unnest(\(followers)), \(author)",
        "INSERT INTO posts (id, author_id, title) VALUES (\(old), \(author), 'old')",
        // Gives a backfill or a rebuild a row to add, and a rebuild a row to remove.
        """
        INSERT INTO following_user_posts SELECT \(other), \(old)
        UNION SELECT \(fan), \(old)
          WHERE CASE WHEN \(plan.has(.rebuild)) THEN NOT \(plan.follows)
            ELSE \(plan.follows && !plan.has(.backfill)) END
        """,
        """
        INSERT INTO fan_outs (post_id, author_id, followers, chunks, finished_at)
        VALUES (\(old), \(author), 1, 1, now())
        """,
      ])
    if plan.has(.fanOut) {
      try await app.pool.execute("INSERT INTO posts (id, author_id, title) VALUES (\(fresh), \(author), 'fresh')")
    }
    if plan.has(.purge) {
      try await app.pool.pipeline([
        "INSERT INTO deleted_posts (id, author_id) VALUES (\(purged), \(author))",
        "INSERT INTO following_user_posts SELECT unnest(\(followers)), \(purged)",
      ])
    }
  }

  func perform(_ operation: Plan.Operation) async throws {
    switch operation {
    case .follow: try await app.follow(author, by: fan)
    case .unfollow: try await app.unfollow(author, by: fan)
    case .post: try await app.post(by: author)
    case .fanOut: try await app.client.transaction { try await PostFanOut(post: fresh, author: author).run(in: $0) }
    case .delete: try await app.delete(plan.has(.fanOut) ? fresh : old, by: author)
    case .purge:
      try await app.client.transaction { try await RemovePostFromFeeds(post: purged, author: author).run(in: $0) }
    case .backfill:
      try await app.client.transaction {
        try await FeedBackfill(follower: fan, followee: author, before: .max).run(in: $0)
      }
    case .rebuild: _ = try await FeedRebuild(account: fan).run(on: app.pool)
    }
  }

  /// Runs the jobs that the two enqueued, and none that would repair their errors.
  func runJobs() async throws {
    while true {
      let jobs = try await app.pool.query("DELETE FROM jobs RETURNING kind, payload").decode(String.self, String.self)
      if jobs.isEmpty { return }
      for (kind, payload) in jobs {
        let data = Data(payload.utf8)
        try await app.client.transaction { transaction in
          switch JobKind(rawValue: kind) {
          case PostFanOut.kind: try await JSONDecoder().decode(PostFanOut.self, from: data).run(in: transaction)
          case RemovePostFromFeeds.kind:
            try await JSONDecoder().decode(RemovePostFromFeeds.self, from: data).run(in: transaction)
          case FeedBackfill.kind: try await JSONDecoder().decode(FeedBackfill.self, from: data).run(in: transaction)
          default: break
          }
        }
      }
    }
  }

  /// The number of missing rows, of stale rows, and of unfinished deletions and fan-outs.
  func differences() async throws -> (Int, Int, Int) {
    try await app.pool.query(
      """
      WITH due AS (SELECT follower_id, id FROM follows JOIN posts ON author_id = followee_id)
      SELECT (SELECT count(*) FROM (SELECT * FROM due EXCEPT SELECT * FROM following_user_posts) x),
        (SELECT count(*) FROM (SELECT * FROM following_user_posts EXCEPT SELECT * FROM due) x),
        (SELECT count(*) FROM deleted_posts)
          + (SELECT count(*) FROM fan_outs WHERE finished_at IS NULL OR delivered > followers)
      """)[0].decode(Int.self, Int.self, Int.self)
  }
}
