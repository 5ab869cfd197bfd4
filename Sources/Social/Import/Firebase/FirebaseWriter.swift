import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Writes batches of records with their bookkeeping, each batch in one transaction.
struct FirebaseWriter: Sendable {
  /// Runs a batch in a transaction.
  typealias Transact =
    @Sendable (@escaping @Sendable (AppTransaction) async throws -> FirebaseOutcome) async throws -> FirebaseOutcome

  let transact: Transact
  /// The time of the run. Records from the future count as made now.
  let now: Date

  static let timeout = Duration.seconds(600)

  // MARK: Bookkeeping

  /// The items whose records have not been taken, each source once, and how many are left out.
  static func fresh<Value: Sendable>(
    _ items: [BatchItem<Value>], of kind: FirebaseKind, _ source: (Value) -> String, in sql: PostgresTransaction
  ) async throws -> (items: [BatchItem<Value>], known: Int) {
    let sources = items.map { source($0.value) }
    var known = Set(
      try await sql.query(
        "SELECT source FROM imports WHERE kind = \(kind.rawValue) AND source = ANY (\(sources))", timeout: timeout
      ).decode(String.self))
    var fresh: [BatchItem<Value>] = []
    for (item, source) in zip(items, sources) where known.insert(source).inserted { fresh.append(item) }
    return (fresh, items.count - fresh.count)
  }

  /// Notes records to which nothing refers.
  static func note(_ sources: [String], of kind: FirebaseKind, in sql: PostgresTransaction) async throws {
    try await sql.execute(
      "INSERT INTO imports (kind, source, id) SELECT \(kind.rawValue), source, 0 FROM unnest(\(sources)) AS source",
      timeout: timeout)
  }

  /// The accounts of these users, without those deleted since.
  static func accounts(_ uids: Set<String>, in sql: PostgresTransaction) async throws -> [String: Int] {
    let rows = try await sql.query(
      """
      SELECT i.source, i.id FROM imports i JOIN accounts a ON a.id = i.id
      WHERE i.kind = 'users' AND i.source = ANY (\(Array(uids)))
      """, timeout: timeout
    ).decode(String.self, Int.self)
    var accounts: [String: Int] = [:]
    for (uid, id) in rows { accounts[uid] = id }
    return accounts
  }

  struct ImportedPost: Sendable {
    let id: Int
    let createdAt: Date
  }

  /// The posts of these sources, without those deleted since.
  static func posts(_ sources: Set<String>, in sql: PostgresTransaction) async throws -> [String: ImportedPost] {
    let rows = try await sql.query(
      """
      SELECT i.source, i.id, p.created_at FROM imports i JOIN posts p ON p.id = i.id
      WHERE i.kind = 'posts' AND i.source = ANY (\(Array(sources)))
      """, timeout: timeout
    ).decode(String.self, Int.self, Date.self)
    var posts: [String: ImportedPost] = [:]
    for (source, id, date) in rows { posts[source] = ImportedPost(id: id, createdAt: date) }
    return posts
  }

  static func unknownUser(_ uid: String) -> String {
    "there is no user \(uid): not in the export, rejected, or deleted since"
  }

  static func unknownPost(_ post: String) -> String {
    "there is no post \(post): not in the export, rejected, or deleted since"
  }
}
