/// A connection's prepared statements, evicted by least recent use. A value without I/O.
struct StatementCache {
  /// A statement's SQL and its parameters' types: the same text with other types has another plan.
  struct Key: Hashable {
    let sql: String
    let types: [UInt32]
  }

  enum Use: Equatable {
    /// Run the statement with this name.
    case prepared(name: String)
    /// Prepare the statement under this name, then run it.
    case prepare(name: String)
    /// Run it unnamed: another request is preparing it, and may still fail.
    case unnamed
  }

  private struct Entry {
    let name: String
    /// The request that prepares it; nil once it is prepared.
    var preparer: UInt64?
    var lastUse: UInt64
  }

  private let capacity: Int
  private var entries: [Key: Entry] = [:]
  private var clock: UInt64 = 0
  private var named = 0
  /// Statements that the server still has but this connection no longer uses.
  private var discarded: [String] = []

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { entries.count }

  /// How `request` must run the statement `key`.
  mutating func use(_ key: Key, by request: UInt64) -> Use {
    clock += 1
    if let index = entries.index(forKey: key) {
      entries.values[index].lastUse = clock
      let entry = entries.values[index]
      // Within one request, a failed prepare makes all later statements fail too.
      return entry.preparer == nil || entry.preparer == request ? .prepared(name: entry.name) : .unnamed
    }
    guard capacity > 0 else { return .unnamed }
    if entries.count >= capacity { evict() }
    // The cache may be full of statements that are still being prepared.
    guard entries.count < capacity else { return .unnamed }
    named += 1
    let name = "s\(named)"
    entries[key] = Entry(name: name, preparer: request, lastUse: clock)
    return .prepare(name: name)
  }

  /// The server has prepared `key`.
  mutating func confirm(_ key: Key) { entries[key]?.preparer = nil }

  /// The server has not prepared `key` after all.
  mutating func forget(_ key: Key) { entries[key] = nil }

  /// The server has `key`, but it is no longer usable.
  mutating func discard(_ key: Key) {
    if let entry = entries.removeValue(forKey: key) { discarded.append(entry.name) }
  }

  /// The names to deallocate; each is returned once.
  mutating func takeDiscarded() -> [String] {
    defer { discarded = [] }
    return discarded
  }

  private mutating func evict() {
    // Linear, but only needed when a connection exceeds its capacity.
    let oldest = entries.filter { $0.value.preparer == nil }.min { $0.value.lastUse < $1.value.lastUse }
    if let oldest { discard(oldest.key) }
  }
}
