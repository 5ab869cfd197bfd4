import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Likes, comments and messages: kept until all have been read, then moved in the order of time.
extension FirebaseWriter {
  /// A record that waits.
  private struct Waiting: Sendable {
    var sources: [String] = []
    var dates: [Date] = []
    var accounts: [Int] = []
    var others: [Int] = []
    var texts: [String?] = []
    var areRead: [Bool] = []
  }

  private static func stage(_ rows: Waiting, of kind: FirebaseKind, in sql: PostgresTransaction) async throws {
    if rows.sources.isEmpty { return }
    try await sql.execute(
      """
      INSERT INTO import_waiting (kind, at, account_id, other_id, text, is_read)
      SELECT \(kind.rawValue), at, account, other, text, is_read
      FROM unnest(\(rows.dates), \(rows.accounts), \(rows.others), \(rows.texts), \(rows.areRead)) WITH ORDINALITY
        AS g (at, account, other, text, is_read, place) ORDER BY place
      """, timeout: timeout)
    try await note(rows.sources, of: kind, in: sql)
  }

  func write(likes items: [BatchItem<FirebaseRecords.Like>]) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      var outcome = FirebaseOutcome()
      let (fresh, known) = try await Self.fresh(items, of: .likes, { $0.source }, in: sql)
      outcome.known = known
      if fresh.isEmpty { return outcome }
      let accounts = try await Self.accounts(Set(fresh.map { $0.value.user }), in: sql)
      let posts = try await Self.posts(Set(fresh.map { $0.value.post }), in: sql)
      var rows = Waiting()
      for item in fresh {
        let like = item.value
        guard let account = accounts[like.user] else {
          outcome.rejected[item.index] = Self.unknownUser(like.user)
          continue
        }
        guard let post = posts[like.post] else {
          outcome.rejected[item.index] = Self.unknownPost(like.post)
          continue
        }
        rows.sources.append(like.source)
        // Many apps keep no time of a like; it was not before the post.
        rows.dates.append(like.createdAt ?? post.createdAt)
        rows.accounts.append(account)
        rows.others.append(post.id)
        rows.texts.append(nil)
        rows.areRead.append(true)
      }
      try await Self.stage(rows, of: .likes, in: sql)
      return outcome
    }
  }

  func write(comments items: [BatchItem<FirebaseRecords.Comment>]) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      var outcome = FirebaseOutcome()
      let (fresh, known) = try await Self.fresh(items, of: .comments, { $0.source }, in: sql)
      outcome.known = known
      if fresh.isEmpty { return outcome }
      let accounts = try await Self.accounts(Set(fresh.map { $0.value.author }), in: sql)
      let posts = try await Self.posts(Set(fresh.map { $0.value.post }), in: sql)
      var rows = Waiting()
      for item in fresh {
        let comment = item.value
        guard let account = accounts[comment.author] else {
          outcome.rejected[item.index] = Self.unknownUser(comment.author)
          continue
        }
        guard let post = posts[comment.post] else {
          outcome.rejected[item.index] = Self.unknownPost(comment.post)
          continue
        }
        rows.sources.append(comment.source)
        rows.dates.append(comment.createdAt)
        rows.accounts.append(account)
        rows.others.append(post.id)
        rows.texts.append(comment.text)
        rows.areRead.append(true)
      }
      try await Self.stage(rows, of: .comments, in: sql)
      return outcome
    }
  }

  func write(messages items: [BatchItem<FirebaseRecords.Message>]) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      var outcome = FirebaseOutcome()
      let (fresh, known) = try await Self.fresh(items, of: .messages, { $0.source }, in: sql)
      outcome.known = known
      if fresh.isEmpty { return outcome }
      let uids = Set(fresh.flatMap { [$0.value.sender, $0.value.recipient] })
      let accounts = try await Self.accounts(uids, in: sql)
      var rows = Waiting()
      for item in fresh {
        let message = item.value
        guard let sender = accounts[message.sender] else {
          outcome.rejected[item.index] = Self.unknownUser(message.sender)
          continue
        }
        guard let recipient = accounts[message.recipient] else {
          outcome.rejected[item.index] = Self.unknownUser(message.recipient)
          continue
        }
        rows.sources.append(message.source)
        rows.dates.append(message.createdAt)
        rows.accounts.append(sender)
        rows.others.append(recipient)
        rows.texts.append(message.text)
        rows.areRead.append(message.isRead)
      }
      try await Self.stage(rows, of: .messages, in: sql)
      return outcome
    }
  }

  /// Moves the next records that wait. `remaining` is 0 after the last.
  ///
  /// - Parameter kind: `likes`, `comments` or `messages`.
  func move(_ kind: FirebaseKind, limit: Int) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let call: PostgresQuery
      switch kind {
      case .likes: call = "SELECT moved, added FROM move_imported_likes(\(Int32(limit)))"
      case .comments: call = "SELECT moved, added FROM move_imported_comments(\(Int32(limit)))"
      default: call = "SELECT moved, added FROM move_imported_messages(\(Int32(limit)))"
      }
      let (moved, added) = try await transaction.sql.query(call, timeout: Self.timeout)[0].decode(Int.self, Int.self)
      var outcome = FirebaseOutcome()
      outcome.added = added
      outcome.known = moved - added
      outcome.remaining = moved
      return outcome
    }
  }
}
