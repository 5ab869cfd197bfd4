import Foundation

/// The place in a list where its next page begins. It can be stored, and belongs to the list it came from.
public struct PageCursor: RawRepresentable, Sendable, Hashable, Codable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
}

/// A page of a list.
public struct Page<Element: Codable & Sendable & Hashable>: Sendable, Hashable, Codable {
  /// At most as many as the page's limit. A page can be shorter than that, even empty, with more pages after it.
  public var items: [Element]
  /// Where the next page begins; nil at the end of the list.
  public var next: PageCursor?

  public init(items: [Element], next: PageCursor? = nil) {
    self.items = items
    self.next = next
  }
}

/// A list that the server sends in pages.
///
/// As an asynchronous sequence it yields the elements of all pages and fetches each page when its first element is
/// wanted. ``page(after:)`` fetches one page, for a screen that loads more as it scrolls.
///
/// ```swift
/// for try await post in client.feed.following().prefix(100) { … }
/// let page = try await client.feed.following().page()
/// ```
public struct Pages<Element: Codable & Sendable & Hashable>: AsyncSequence, Sendable {
  let sender: RequestSender
  let request: APIRequest
  let limit: Int?

  /// One page.
  ///
  /// - Parameter cursor: the `next` of an earlier page; nil for the first.
  /// - Throws: `invalid_before`, `invalid_limit`; and what the list itself throws.
  public func page(after cursor: PageCursor? = nil) async throws -> Page<Element> {
    try await sender.value(Self.request(request, after: cursor, limit: limit))
  }

  static func request(_ request: APIRequest, after cursor: PageCursor?, limit: Int?) -> APIRequest {
    var request = request
    if let cursor { request.query.append(("before", String(cursor.rawValue))) }
    if let limit { request.query.append(("limit", String(limit))) }
    return request
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: self) }

  public struct AsyncIterator: AsyncIteratorProtocol {
    let pages: Pages
    private var items: [Element] = []
    private var position = 0
    private var cursor: PageCursor?
    private var isLast = false

    init(pages: Pages) { self.pages = pages }

    public mutating func next() async throws -> Element? {
      while position == items.count {
        if isLast { return nil }
        let page = try await pages.page(after: cursor)
        (items, position, cursor, isLast) = (page.items, 0, page.next, page.next == nil)
      }
      defer { position += 1 }
      return items[position]
    }
  }
}
