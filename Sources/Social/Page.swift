/// A page of a list, and the cursor of the next one.
public struct Page<Item: Sendable>: Sendable {
  public var items: [Item]
  /// The cursor of the next page; nil at the end.
  public var next: Int?

  public init(items: [Item], next: Int?) {
    self.items = items
    self.next = next
  }

  /// A page of the first `limit` of `items`, which were read with one extra.
  init(_ items: [Item], limit: Int, cursor: (Item) -> Int) {
    self.items = Array(items.prefix(limit))
    next = items.count > limit ? self.items.last.map(cursor) : nil
  }

  public func map<Other>(_ transform: (Item) -> Other) -> Page<Other> {
    Page<Other>(items: items.map(transform), next: next)
  }
}

extension Page {
  /// A row of a list: its cursor, and the item, or nil to skip it.
  typealias Row = (cursor: Int, item: Item?)

  /// The most reads per page. A page may have fewer items than its limit although more exist.
  private static var rounds: Int { 10 }

  /// Fills a page from a list in which some rows are skipped.
  ///
  /// - Parameters:
  ///   - start: the cursor to begin at.
  ///   - rows: reads up to `count` rows after a cursor; fewer mean the end of the list.
  static func filled(
    from start: Int, limit: Int, _ rows: (_ after: Int, _ count: Int) async throws -> [Row]
  ) async throws -> Page {
    var items: [(cursor: Int, item: Item)] = []
    var cursor = start
    var count = limit + 1
    for _ in 0..<rounds {
      let read = try await rows(cursor, count)
      for row in read {
        if let item = row.item { items.append((row.cursor, item)) }
      }
      if items.count > limit {
        return Page(items: items.prefix(limit).map(\.item), next: items[limit - 1].cursor)
      }
      guard read.count == count, let last = read.last else { return Page(items: items.map(\.item), next: nil) }
      cursor = last.cursor
      // Rows are being skipped, so read more at once.
      count = max(100, limit + 1)
    }
    return Page(items: items.map(\.item), next: cursor)
  }
}

/// A request for a page of a list.
public struct PageRequest: Sendable, Hashable {
  /// Only items after this cursor; nil for the first page.
  public var before: Int?
  /// 1–100.
  public var limit: Int

  public static let limits = 1...100

  /// - Throws: `invalid_limit`, `invalid_before`.
  public init(before: Int? = nil, limit: Int = 20) throws(SocialError) {
    guard Self.limits.contains(limit) else { throw .invalid("limit", "must be a number from 1 to 100") }
    if let before, !EntityID.all.contains(before) { throw .invalid("before", "must be the 'next' of an earlier page") }
    self.before = before
    self.limit = limit
  }

  var cursor: Int { before ?? .max }
}
