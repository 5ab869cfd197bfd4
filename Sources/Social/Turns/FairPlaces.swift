/// A number of places, and who waits for one: clients take turns, each client's lowest number first.
struct FairPlaces<Client: Hashable & Sendable, Waiter: Sendable>: Sendable {
  private var free: Int
  private var turns = FairQueue<Client, Int>()
  /// By number; who has given up is none of them any more.
  private var waiters: [Int: Waiter] = [:]
  private var lastNumber = 0

  init(_ count: Int) { free = count }

  /// How many wait.
  var waiting: Int { waiters.count }

  mutating func take() -> Bool {
    guard free > 0 else { return false }
    free -= 1
    return true
  }

  /// What somebody waits under, and gives up by.
  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  mutating func wait(_ waiter: Waiter, _ number: Int, for client: Client) {
    waiters[number] = waiter
    turns.insert(number, for: client) { $0 > number }
  }

  /// - Returns: nil if it is not waiting any more.
  mutating func giveUp(_ number: Int) -> Waiter? { waiters.removeValue(forKey: number) }

  /// Hands a place on to whose turn it is; with nobody waiting it is free.
  mutating func leave() -> Waiter? {
    if let waiter = popFirst(where: { _ in true }) { return waiter }
    free += 1
    return nil
  }

  /// Takes out whose turn it is, without a place; nil if `isWanted` refuses it.
  mutating func popFirst(where isWanted: (Waiter) -> Bool) -> Waiter? {
    while let number = turns.first {
      if let waiter = waiters[number], !isWanted(waiter) { return nil }
      _ = turns.popFirst()
      if let waiter = waiters.removeValue(forKey: number) { return waiter }
    }
    return nil
  }
}
