import DequeModule

/// What runs in each of a queue's processors, and which of them wait for work.
///
/// A processor is a long-lived task that runs one item after another, so that a job costs no task. The task of a
/// handler that is past its limit, or whose job an operator cancelled, is cancelled; its processor goes on in a new
/// one.
struct Processors {
  /// Why a handler was cancelled.
  enum Cutoff: Sendable {
    /// It took longer than its kind may.
    case timeLimit
    /// These of its jobs are not wanted any more.
    case unwanted(Set<JobID>)
  }

  private enum Stage {
    /// The handler has not begun, or is over.
    case idle
    /// The handler runs.
    case running
  }

  private struct Processor {
    /// What it has taken, until its outcome is known.
    var item: WorkItem?
    var stage = Stage.idle
    var began: Moment?
    var deadline: ContinuousClock.Instant?
    /// Whether the broker knows that the item began.
    var isMarked = false
    /// Counts the items, so that a mark that comes late meets the item that it was meant for.
    var number = 0
    var cutoff: Cutoff?
  }

  private var all: [Processor]
  /// Those that wait for work, longest first.
  private var waiting: Deque<Int> = []

  init(count: Int) { all = Array(repeating: Processor(), count: count) }

  /// The processor waits for work from now on.
  mutating func wait(_ processor: Int) { waiting.append(processor) }

  /// The one that has waited longest; it waits no more.
  mutating func popWaiting() -> Int? { waiting.popFirst() }

  var isAnyWaiting: Bool { !waiting.isEmpty }

  mutating func take(_ item: WorkItem, by processor: Int) { all[processor].item = item }

  func item(of processor: Int) -> WorkItem? { all[processor].item }

  mutating func began(
    _ processor: Int, at now: Moment, deadline: ContinuousClock.Instant?, isMarked: Bool
  ) {
    all[processor].stage = .running
    all[processor].began = now
    all[processor].deadline = deadline
    all[processor].isMarked = isMarked
    all[processor].number += 1
  }

  /// The handler is over: nothing cuts it off any more.
  ///
  /// - Returns: why it was cancelled; nil if it was not.
  mutating func returned(_ processor: Int) -> Cutoff? {
    all[processor].stage = .idle
    return all[processor].cutoff
  }

  /// The processor has its hands free.
  ///
  /// - Returns: what it had, and when that began.
  mutating func clear(_ processor: Int) -> (item: WorkItem, began: Moment?)? {
    guard let item = all[processor].item else { return nil }
    all[processor].stage = .idle
    all[processor].item = nil
    return (item, all[processor].began)
  }

  /// Whether the processor's task is cancelled, or about to be, so that it can run nothing more.
  func isCutOff(_ processor: Int) -> Bool { all[processor].cutoff != nil }

  /// The processor goes on in a new task.
  mutating func restart(_ processor: Int) { all[processor].cutoff = nil }

  // MARK: What runs

  /// What runs, each with when it began.
  var running: [(item: WorkItem, since: ContinuousClock.Instant)] {
    all.compactMap { processor in
      guard processor.stage == .running, let item = processor.item, let began = processor.began else { return nil }
      return (item, began.instant)
    }
  }

  var isAnyRunning: Bool { all.contains { $0.stage == .running } }

  /// All claims that processors have taken and whose outcome is not known.
  var claims: [Claim] { all.flatMap { $0.item?.claims ?? [] } }

  /// What runs and is not marked as begun.
  struct Unmarked: Sendable {
    let processor: Int
    let number: Int
    let claims: [Claim]
  }

  var unmarked: [Unmarked] {
    all.indices.compactMap { index in
      guard all[index].stage == .running, !all[index].isMarked, let item = all[index].item else { return nil }
      return Unmarked(processor: index, number: all[index].number, claims: item.claims)
    }
  }

  mutating func mark(_ marked: [Unmarked]) {
    for entry in marked where all[entry.processor].number == entry.number { all[entry.processor].isMarked = true }
  }

  /// Cuts off the handlers that run one of `ids`.
  ///
  /// - Returns: their processors.
  mutating func cutOff(running ids: Set<JobID>) -> [Int] {
    cutOff { processor in
      let unwanted = processor.item?.claims.filter { $0.record.isDurable && ids.contains($0.record.id) } ?? []
      return unwanted.isEmpty ? nil : .unwanted(Set(unwanted.map(\.record.id)))
    }
  }

  /// Cuts off the handlers whose limit has passed.
  ///
  /// - Returns: their processors.
  mutating func cutOff(overdueAt now: ContinuousClock.Instant) -> [Int] {
    cutOff { processor in
      guard let deadline = processor.deadline, deadline <= now else { return nil }
      return .timeLimit
    }
  }

  private mutating func cutOff(_ reason: (Processor) -> Cutoff?) -> [Int] {
    all.indices.filter { index in
      guard all[index].stage == .running, all[index].cutoff == nil, let cutoff = reason(all[index]) else {
        return false
      }
      all[index].cutoff = cutoff
      return true
    }
  }
}
