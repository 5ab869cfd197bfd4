import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// One transaction of the app: its SQL, and the jobs that are pending once it commits.
public typealias AppTransaction = JobTransaction<PostgresLedger>

/// What can run a statement that only reads: a pool, or a transaction where the answer must fit what else it does.
public protocol SocialReader: Sendable {
  /// Runs a statement that reads.
  func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows
}

extension PostgresTransaction: SocialReader {
  public func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows { try await self.query(query) }
}

extension PostgresPool: SocialReader {
  public func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows { try await self.query(query) }
}

extension PostgresReads: SocialReader {
  public func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows { try await self.query(query) }
}

/// A page of a list, and what to ask for to get the next one.
public struct Page<Item: Sendable>: Sendable {
  public var items: [Item]
  /// The cursor of the next page; nil at the end.
  public var next: Int?

  public init(items: [Item], next: Int?) {
    self.items = items
    self.next = next
  }

  /// A page of the first `limit` of `items`, which were asked for with one more.
  init(_ items: [Item], limit: Int, cursor: (Item) -> Int) {
    self.items = Array(items.prefix(limit))
    next = items.count > limit ? self.items.last.map(cursor) : nil
  }
}

/// Which page of a list is asked for.
public struct PageRequest: Sendable, Hashable {
  /// Only what comes after this cursor; nil for the first page.
  public var before: Int?
  /// 1–100.
  public var limit: Int

  public static let limits = 1...100

  /// - Throws: `invalid_limit`, `invalid_before`.
  public init(before: Int? = nil, limit: Int = 20) throws(SocialError) {
    guard Self.limits.contains(limit) else { throw .invalid("limit", "is a number from 1 to 100") }
    if let before, !EntityID.all.contains(before) { throw .invalid("before", "is the 'next' of an earlier page") }
    self.before = before
    self.limit = limit
  }

  var cursor: Int { before ?? .max }
}
