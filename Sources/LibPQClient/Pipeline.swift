import DequeModule

/// What the server still owes a connection in pipeline mode, in order. A value without I/O: it is told what was sent
/// and what came, and says what that means.
///
/// A request is some steps and a sync. After a failed step the server skips the rest of the request, up to its sync.
struct Pipeline {
  enum Step: Equatable {
    case prepare(StatementCache.Key)
    /// Its result is the caller's; the key is that of a prepared statement.
    case execute(StatementCache.Key?)
    /// Its result is nobody's: BEGIN, DEALLOCATE.
    case housekeeping
  }

  enum Reply: Equatable {
    case done
    case failed
    /// Skipped, after the failure of an earlier step.
    case skipped
    case synced
  }

  enum Action: Equatable {
    case none
    case confirm(StatementCache.Key)
    /// The step did not prepare `forgotten`; `failed` is the request to blame, if this step is the one that failed.
    case forget(StatementCache.Key, failed: UInt64?)
    case deliver(UInt64)
    case fail(UInt64, statement: StatementCache.Key?)
    case finish(UInt64)
    /// The server sent what nobody asked for.
    case confused
  }

  private struct Entry {
    let request: UInt64
    let steps: [Step]
    var next = 0
  }

  private var entries: Deque<Entry> = []

  var isIdle: Bool { entries.isEmpty }
  var count: Int { entries.count }
  /// The request that the server is busy with.
  var head: UInt64? { entries.first?.request }

  mutating func sent(_ request: UInt64, _ steps: [Step]) {
    entries.append(Entry(request: request, steps: steps))
  }

  mutating func received(_ reply: Reply) -> Action {
    guard let entry = entries.first else { return .confused }
    if reply == .synced {
      guard entry.next == entry.steps.count else { return .confused }
      entries.removeFirst()
      return .finish(entry.request)
    }
    guard entry.next < entry.steps.count else { return .confused }
    entries[0].next += 1
    switch (entry.steps[entry.next], reply) {
    case (.prepare(let key), .done): return .confirm(key)
    case (.prepare(let key), .failed): return .forget(key, failed: entry.request)
    case (.prepare(let key), _): return .forget(key, failed: nil)
    case (.execute, .done): return .deliver(entry.request)
    case (.execute(let key), .failed): return .fail(entry.request, statement: key)
    case (.housekeeping, .failed): return .fail(entry.request, statement: nil)
    case (.execute, _), (.housekeeping, _): return .none
    }
  }
}
