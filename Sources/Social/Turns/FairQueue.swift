import DequeModule

/// A queue in which clients take turns, and each client's elements stay in order. A client with many elements delays
/// only itself.
struct FairQueue<Client: Hashable & Sendable, Element: Sendable>: Sendable {
  private var waiting: [Client: Deque<Element>] = [:]
  /// The clients with waiting elements, in turn order.
  private var turns: Deque<Client> = []
  private(set) var count = 0

  func count(of client: Client) -> Int { waiting[client]?.count ?? 0 }

  /// The next element.
  var first: Element? { turns.first.flatMap { waiting[$0]?.first } }

  mutating func append(_ element: Element, for client: Client) { insert(element, for: client) { _ in false } }

  /// Inserts an element before those at the end of its client's queue for which `isLater` holds.
  mutating func insert(_ element: Element, for client: Client, before isLater: (Element) -> Bool) {
    if waiting[client] == nil { turns.append(client) }
    let index = (waiting[client]?.lastIndex { !isLater($0) }).map { $0 + 1 } ?? 0
    waiting[client, default: []].insert(element, at: index)
    count += 1
  }

  /// Removes the next element; its client's next turn comes after all other clients'.
  mutating func popFirst() -> Element? {
    guard let client = turns.popFirst(), let element = waiting[client]?.popFirst() else { return nil }
    if waiting[client]?.isEmpty == true { waiting[client] = nil } else { turns.append(client) }
    count -= 1
    return element
  }
}
