import DequeModule

/// The replies that a connection in pipeline mode still expects, in order. A value without I/O: it receives what was
/// sent and what arrived, and returns what that means.
///
/// A request consists of steps and a sync. After a failed step, the server skips the rest of the request, up to its
/// sync.
struct Pipeline {
  enum Step: Equatable {
    case prepare(StatementCache.Key)
    /// The caller gets its result; the key identifies a prepared statement.
    case execute(StatementCache.Key?)
    /// Its result is discarded: BEGIN, DEALLOCATE.
    case housekeeping
  }

  enum Reply: Equatable {
    case done
    case failed
    /// Skipped after an earlier step failed.
    case skipped
    case synced
  }

  enum Action: Equatable {
    case none
    case confirm(StatementCache.Key)
    /// The statement was not prepared; `failed` is the request to blame if this step is the one that failed.
    case forget(StatementCache.Key, failed: UInt64?)
    case deliver(UInt64)
    case fail(UInt64, statement: StatementCache.Key?)
    case finish(UInt64)
    /// The server sent an unexpected reply.
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
  /// The request that the server is processing.
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
