import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

extension FirebaseWriter {
  /// Keeps what the export says of notifications. They are written last, from the likes, comments and follows, so that
  /// each has its cause.
  func write(notifications items: [BatchItem<FirebaseRecords.Notification>]) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      var outcome = FirebaseOutcome()
      let (fresh, known) = try await Self.fresh(items, of: .notifications, { $0.source }, in: sql)
      outcome.known = known
      if fresh.isEmpty { return outcome }
      let accounts = try await Self.accounts(Set(fresh.flatMap { [$0.value.owner, $0.value.actor] }), in: sql)
      let posts = try await Self.posts(Set(fresh.compactMap { $0.value.post }), in: sql)
      var found: [(item: BatchItem<FirebaseRecords.Notification>, owner: Int, actor: Int, post: Int)] = []
      for item in fresh {
        let notification = item.value
        guard let owner = accounts[notification.owner] else {
          outcome.rejected[item.index] = Self.unknownUser(notification.owner)
          continue
        }
        guard let actor = accounts[notification.actor] else {
          outcome.rejected[item.index] = Self.unknownUser(notification.actor)
          continue
        }
        var post = 0
        if let source = notification.post {
          guard let known = posts[source] else {
            outcome.rejected[item.index] = Self.unknownPost(source)
            continue
          }
          post = known.id
        }
        found.append((item: item, owner: owner, actor: actor, post: post))
      }
      let withCause = try await Self.places(
        found.map(\.owner), found.map { $0.item.value.type.rawValue }, found.map(\.post), found.map(\.actor), in: sql)
      var sources: [String] = []
      var kept: [(owner: Int, type: Int16, actor: Int, post: Int, unread: Int32, at: Date)] = []
      for (place, entry) in found.enumerated() {
        let notification = entry.item.value
        guard withCause.contains(place) else {
          outcome.rejected[entry.item.index] =
            "the \(notification.type) that it reports is not there: it was taken back, or rejected"
          continue
        }
        sources.append(notification.source)
        kept.append(
          (
            owner: entry.owner, type: notification.type.rawValue, actor: entry.actor, post: entry.post,
            unread: notification.isChecked ? 0 : 1, at: notification.createdAt
          ))
      }
      if sources.isEmpty { return outcome }
      try await sql.execute(
        """
        INSERT INTO import_notices AS n (owner_id, type, actor_id, post_id, unread, at)
        SELECT owner, type, actor, post, sum(unread)::integer, max(at)
        FROM unnest(\(kept.map(\.owner)), \(kept.map(\.type)), \(kept.map(\.actor)), \(kept.map(\.post)),
          \(kept.map(\.unread)), \(kept.map(\.at))) AS g (owner, type, actor, post, unread, at)
        GROUP BY owner, type, actor, post
        ON CONFLICT (owner_id, type, actor_id, post_id) DO UPDATE
          SET unread = n.unread + excluded.unread, at = greatest(n.at, excluded.at)
        """, timeout: Self.timeout)
      try await sql.execute(
        "INSERT INTO import_owners (owner_id) SELECT DISTINCT unnest(\(kept.map(\.owner))) ON CONFLICT DO NOTHING")
      try await Self.note(sources, of: .notifications, in: sql)
      outcome.added = sources.count
      return outcome
    }
  }

  /// The places, from 0, of the notifications whose cause exists. A follow's outlives it.
  private static func places(
    _ owners: [Int], _ types: [Int16], _ posts: [Int], _ actors: [Int], in sql: PostgresTransaction
  ) async throws -> Set<Int> {
    if owners.isEmpty { return [] }
    return Set(
      try await sql.query(
        """
        SELECT place - 1 FROM unnest(\(owners), \(types), \(posts), \(actors)) WITH ORDINALITY
          AS g (owner, type, post, actor, place)
        WHERE CASE type
          WHEN 2 THEN true
          WHEN 0 THEN EXISTS (SELECT FROM likes l JOIN posts p ON p.id = l.post_id
            WHERE l.post_id = post AND l.account_id = actor AND p.author_id = owner)
          ELSE EXISTS (SELECT FROM comments c JOIN posts p ON p.id = c.post_id
            WHERE c.post_id = post AND c.account_id = actor AND p.author_id = owner)
        END
        """, timeout: timeout
      ).decode(Int.self))
  }

  /// Writes the notifications of the next owners. `remaining` is 0 after the last.
  func writeNotifications(limit: Int) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      let sizes = NotificationSizes.current
      let owners = try await sql.query("SELECT owner_id FROM import_owners ORDER BY owner_id LIMIT \(limit)")
        .decode(Int.self)
      var outcome = FirebaseOutcome()
      outcome.remaining = owners.count
      if owners.isEmpty { return outcome }
      let crowded = try await sql.query(
        """
        SELECT * FROM write_imported_notifications(\(owners), \(now), \(sizes.kept),
          now() - make_interval(months => \(Int32(sizes.months))))
        """, timeout: .seconds(3600)
      ).decode(Int.self)
      try await transaction.enqueue(crowded.map { NotificationTrim(owner: $0) })
      return outcome
    }
  }

  // MARK: Celebs

  func write(celebs items: [BatchItem<FirebaseRecords.Celeb>]) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      var outcome = FirebaseOutcome()
      let (fresh, known) = try await Self.fresh(items, of: .celebs, { $0.source }, in: sql)
      outcome.known = known
      if fresh.isEmpty { return outcome }
      let accounts = try await Self.accounts(Set(fresh.map { $0.value.fan }), in: sql)
      var fans: [Int] = []
      var celebs: [FirebaseRecords.Celeb] = []
      for item in fresh {
        guard let fan = accounts[item.value.fan] else {
          outcome.rejected[item.index] = Self.unknownUser(item.value.fan)
          continue
        }
        fans.append(fan)
        celebs.append(item.value)
      }
      if celebs.isEmpty { return outcome }
      let added = try await sql.query(
        """
        SELECT import_celebs(\(fans), \(celebs.map { $0.account.platform.rawValue }), \(celebs.map { $0.account.name }),
          \(celebs.map(\.since)), \(celebs.map(\.hearts)), \(celebs.map { $0.recent ?? $0.since }))
        """, timeout: .seconds(3600))[0].decode(Int.self)
      try await Self.note(celebs.map(\.source), of: .celebs, in: sql)
      outcome.added = added
      outcome.known += celebs.count - added
      return outcome
    }
  }
}
