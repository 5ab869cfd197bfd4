import DequeModule

/// What waits, by whom it is for: clients take turns, and each has its own in order. Who sends much waits for itself.
struct FairQueue<Client: Hashable & Sendable, Element: Sendable>: Sendable {
  private var waiting: [Client: Deque<Element>] = [:]
  /// Those with something waiting, the next one first.
  private var turns: Deque<Client> = []
  private(set) var count = 0

  func count(of client: Client) -> Int { waiting[client]?.count ?? 0 }

  /// The next.
  var first: Element? { turns.first.flatMap { waiting[$0]?.first } }

  mutating func append(_ element: Element, for client: Client) { insert(element, for: client) { _ in false } }

  /// Adds an element before those at the end of its client's for which `isLater` holds.
  mutating func insert(_ element: Element, for client: Client, before isLater: (Element) -> Bool) {
    if waiting[client] == nil { turns.append(client) }
    let index = (waiting[client]?.lastIndex { !isLater($0) }).map { $0 + 1 } ?? 0
    waiting[client, default: []].insert(element, at: index)
    count += 1
  }

  /// Takes the next; its client's turn comes again after everybody else's.
  mutating func popFirst() -> Element? {
    guard let client = turns.popFirst(), let element = waiting[client]?.popFirst() else { return nil }
    if waiting[client]?.isEmpty == true { waiting[client] = nil } else { turns.append(client) }
    count -= 1
    return element
  }
}
