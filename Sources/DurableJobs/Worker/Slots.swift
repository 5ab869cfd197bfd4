import Locking

/// The tasks that run one queue's handlers, and their time limits.
///
/// A slot is one long-lived task that runs one item after another, so that starting a job costs no task. A handler past
/// its kind's limit, or whose job nobody wants any more, has its slot's task cancelled; the slot then goes on in a new
/// task.
final class Slots: Sendable {
  private struct Slot {
    var task: Task<Bool, Never>?
    var deadline: ContinuousClock.Instant?
    /// What runs in it, and since when.
    var item: WorkItem?
    var since = ContinuousClock.now
    /// Whether the broker knows that it began.
    var isMarked = false
    /// Counts the slot's items, so that a mark that comes late meets the item that it was meant for.
    var number = 0
    var cutoff: Cutoff?
  }

  /// Why a handler was cancelled.
  enum Cutoff: Sendable {
    /// It took longer than its kind may.
    case timeLimit
    /// Nobody wants these of its jobs any more.
    case unwanted(Set<JobID>)
  }

  private let slots: Locked<[Slot]>
  let count: Int

  init(count: Int) {
    self.count = count
    slots = Locked(Array(repeating: Slot(), count: count))
  }

  /// Runs `work` for a slot until it returns true; again in a new task each time it was cancelled.
  func run(_ index: Int, _ work: @escaping @Sendable () async -> Bool) async {
    var isFinished = false
    while !isFinished {
      slots.withLock { $0[index] = Slot(number: $0[index].number) }
      // Owned here: awaited below, and cancelled with the task that runs the slot.
      let task = Task { await work() }
      // It may have begun a job by now, whose time limit must stay.
      slots.withLock { $0[index].task = task }
      isFinished = await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }

  func began(
    _ index: Int, _ item: WorkItem, limit: Duration?, at start: ContinuousClock.Instant, isMarked: Bool = false
  ) {
    let deadline = limit.map { start + $0 }
    slots.withLock { slots in
      slots[index].number += 1
      slots[index].isMarked = isMarked
      slots[index].deadline = deadline
      slots[index].item = item
      slots[index].since = start
    }
  }

  /// - Returns: why the slot's task is cancelled, so that it can run nothing more; nil if it is not.
  func ended(_ index: Int) -> Cutoff? {
    slots.withLock { slots in
      slots[index].deadline = nil
      slots[index].item = nil
      return slots[index].cutoff
    }
  }

  /// What runs now, each with when it began.
  var running: [(item: WorkItem, since: ContinuousClock.Instant)] {
    slots.withLock { slots in slots.compactMap { slot in slot.item.map { ($0, slot.since) } } }
  }

  /// What runs in a slot and is not marked as begun.
  struct Unmarked: Sendable {
    let slot: Int
    let number: Int
    let claims: [Claim]
  }

  var unmarked: [Unmarked] {
    slots.withLock { slots in
      slots.indices.compactMap { index in
        guard let item = slots[index].item, !slots[index].isMarked else { return nil }
        return Unmarked(slot: index, number: slots[index].number, claims: item.claims)
      }
    }
  }

  func mark(_ marked: [Unmarked]) {
    slots.withLock { slots in
      for entry in marked where slots[entry.slot].number == entry.number { slots[entry.slot].isMarked = true }
    }
  }

  /// Cancels the handlers that run one of `ids`.
  func cancel(_ ids: Set<JobID>) {
    let unwanted = slots.withLock { slots in
      var tasks: [Task<Bool, Never>] = []
      for index in slots.indices {
        guard let item = slots[index].item, slots[index].cutoff == nil, let task = slots[index].task else { continue }
        let found = item.claims.filter { $0.record.isDurable && ids.contains($0.record.id) }.map(\.record.id)
        if found.isEmpty { continue }
        slots[index].cutoff = .unwanted(Set(found))
        tasks.append(task)
      }
      return tasks
    }
    for task in unwanted { task.cancel() }
  }

  /// Cancels the handlers whose limit has passed.
  func cancelOverdue(now: ContinuousClock.Instant) {
    let overdue = slots.withLock { slots in
      var tasks: [Task<Bool, Never>] = []
      for index in slots.indices {
        guard let deadline = slots[index].deadline, deadline <= now, slots[index].cutoff == nil,
          let task = slots[index].task
        else { continue }
        slots[index].cutoff = .timeLimit
        tasks.append(task)
      }
      return tasks
    }
    for task in overdue { task.cancel() }
  }
}
