/// Which statements a connection has prepared, least recently used first out. A value without I/O.
struct StatementCache {
  /// A statement is its SQL and its parameters' types: the same text with other types is another plan.
  struct Key: Hashable {
    let sql: String
    let types: [UInt32]
  }

  enum Use: Equatable {
    /// Run it by this name.
    case prepared(name: String)
    /// Prepare it under this name, then run it by it.
    case prepare(name: String)
    /// Run it without a name: another request is preparing it, and it is not known yet whether that succeeds.
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
  /// What the server still has and this connection no longer uses.
  private var discarded: [String] = []

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { entries.count }

  /// How `request` is to run the statement `key`.
  mutating func use(_ key: Key, by request: UInt64) -> Use {
    clock += 1
    if let index = entries.index(forKey: key) {
      entries.values[index].lastUse = clock
      let entry = entries.values[index]
      // Within one request all later statements fail if the preparing one does.
      return entry.preparer == nil || entry.preparer == request ? .prepared(name: entry.name) : .unnamed
    }
    guard capacity > 0 else { return .unnamed }
    if entries.count >= capacity { evict() }
    // Room may be lacking while everything in the cache is still being prepared.
    guard entries.count < capacity else { return .unnamed }
    named += 1
    let name = "s\(named)"
    entries[key] = Entry(name: name, preparer: request, lastUse: clock)
    return .prepare(name: name)
  }

  /// The server has prepared `key`.
  mutating func confirm(_ key: Key) { entries[key]?.preparer = nil }

  /// The server has not prepared `key`, after all.
  mutating func forget(_ key: Key) { entries[key] = nil }

  /// The server has `key`, but it is of no use any more.
  mutating func discard(_ key: Key) {
    if let entry = entries.removeValue(forKey: key) { discarded.append(entry.name) }
  }

  /// The names that the server may drop; each is returned once.
  mutating func takeDiscarded() -> [String] {
    defer { discarded = [] }
    return discarded
  }

  private mutating func evict() {
    // Linear, and only when a connection has more statements than it keeps.
    let oldest = entries.filter { $0.value.preparer == nil }.min { $0.value.lastUse < $1.value.lastUse }
    if let oldest { discard(oldest.key) }
  }
}
