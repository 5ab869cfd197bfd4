/// A number of places, and the waiters for them: clients take turns, each client's lowest number first.
struct FairPlaces<Client: Hashable & Sendable, Waiter: Sendable>: Sendable {
  private var free: Int
  private var turns = FairQueue<Client, Int>()
  /// By number. A waiter that has given up is removed.
  private var waiters: [Int: Waiter] = [:]
  private var lastNumber = 0

  init(_ count: Int) { free = count }

  /// How many are waiting.
  var waiting: Int { waiters.count }

  mutating func take() -> Bool {
    guard free > 0 else { return false }
    free -= 1
    return true
  }

  /// A number to wait under and to give up by.
  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  mutating func wait(_ waiter: Waiter, _ number: Int, for client: Client) {
    waiters[number] = waiter
    turns.insert(number, for: client) { $0 > number }
  }

  /// - Returns: nil if it is no longer waiting.
  mutating func giveUp(_ number: Int) -> Waiter? { waiters.removeValue(forKey: number) }

  /// Hands a place to the next waiter; without one, the place becomes free.
  mutating func leave() -> Waiter? {
    if let waiter = popFirst(where: { _ in true }) { return waiter }
    free += 1
    return nil
  }

  /// Removes the next waiter without giving it a place; nil if `isWanted` refuses it.
  mutating func popFirst(where isWanted: (Waiter) -> Bool) -> Waiter? {
    while let number = turns.first {
      if let waiter = waiters[number], !isWanted(waiter) { return nil }
      _ = turns.popFirst()
      if let waiter = waiters.removeValue(forKey: number) { return waiter }
    }
    return nil
  }
}
