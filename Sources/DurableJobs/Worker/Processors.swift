import DequeModule

/// A queue's processors: which items they run, and which of them wait for work.
///
/// A processor is a long-lived task that runs one item after another, so that a job needs no task of its own. When a
/// handler exceeds its limit or an operator cancels its job, the task is cancelled and the processor continues in a new
/// one.
struct Processors {
  /// Why a handler was cancelled.
  enum Cutoff: Sendable {
    /// It ran longer than its kind's limit.
    case timeLimit
    /// These of its jobs were cancelled.
    case unwanted(Set<JobID>)
  }

  private enum Stage {
    /// The handler has not begun, or has returned.
    case idle
    /// The handler is running.
    case running
  }

  private struct Processor {
    /// The item it has taken, until its outcome is known.
    var item: WorkItem?
    var stage = Stage.idle
    var began: Moment?
    var deadline: ContinuousClock.Instant?
    /// Whether the broker has recorded that the item began.
    var isMarked = false
    /// Counts the items, so that a late mark applies only to its own item.
    var number = 0
    var cutoff: Cutoff?
  }

  private var all: [Processor]
  /// Processors that wait for work, longest first.
  private var waiting: Deque<Int> = []

  init(count: Int) { all = Array(repeating: Processor(), count: count) }

  /// Adds the processor to the waiting ones.
  mutating func wait(_ processor: Int) { waiting.append(processor) }

  /// Removes and returns the processor that has waited longest.
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

  /// Records that the handler has returned: it can no longer be cut off.
  ///
  /// - Returns: why it was cancelled; nil if it was not.
  mutating func returned(_ processor: Int) -> Cutoff? {
    all[processor].stage = .idle
    return all[processor].cutoff
  }

  /// Makes the processor idle.
  ///
  /// - Returns: its item, and when that began.
  mutating func clear(_ processor: Int) -> (item: WorkItem, began: Moment?)? {
    guard let item = all[processor].item else { return nil }
    all[processor].stage = .idle
    all[processor].item = nil
    return (item, all[processor].began)
  }

  /// Whether the processor's task is cancelled, or about to be, so that it can run nothing more.
  func isCutOff(_ processor: Int) -> Bool { all[processor].cutoff != nil }

  /// The processor continues in a new task.
  mutating func restart(_ processor: Int) { all[processor].cutoff = nil }

  // MARK: Running items

  /// The running items, each with its start.
  var running: [(item: WorkItem, since: ContinuousClock.Instant)] {
    all.compactMap { processor in
      guard processor.stage == .running, let item = processor.item, let began = processor.began else { return nil }
      return (item, began.instant)
    }
  }

  var isAnyRunning: Bool { all.contains { $0.stage == .running } }

  /// All claims that processors have taken and whose outcome is unknown.
  var claims: [Claim] { all.flatMap { $0.item?.claims ?? [] } }

  /// A running item that is not marked as begun.
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
