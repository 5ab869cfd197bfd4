import Locking

/// The tasks that run one queue's handlers, and their time limits.
///
/// A slot is one long-lived task that runs one item after another, so that starting a job costs no task. A handler past its
/// kind's limit has its slot's task cancelled; the slot then goes on in a new task.
final class Slots: Sendable {
  private struct Slot {
    var task: Task<Bool, Never>?
    var deadline: ContinuousClock.Instant?
    var isTimedOut = false
  }

  private let slots: Locked<[Slot]>
  let count: Int

  init(count: Int) {
    self.count = count
    slots = Locked(Array(repeating: Slot(), count: count))
  }

  /// Runs `work` for a slot until it returns true; again in a new task each time it was cancelled for its time limit.
  func run(_ index: Int, _ work: @escaping @Sendable () async -> Bool) async {
    var isFinished = false
    while !isFinished {
      slots.withLock { $0[index] = Slot() }
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

  func began(_ index: Int, limit: Duration?) {
    guard let limit else { return }
    let deadline = ContinuousClock.now + limit
    slots.withLock { $0[index].deadline = deadline }
  }

  /// - Returns: whether the handler's time limit passed, so that its task is cancelled and can run nothing more.
  func ended(_ index: Int) -> Bool {
    slots.withLock { slots in
      slots[index].deadline = nil
      return slots[index].isTimedOut
    }
  }

  /// Cancels the handlers whose limit has passed.
  func cancelOverdue(now: ContinuousClock.Instant) {
    let overdue = slots.withLock { slots in
      var tasks: [Task<Bool, Never>] = []
      for index in slots.indices {
        guard let deadline = slots[index].deadline, deadline <= now, !slots[index].isTimedOut,
          let task = slots[index].task
        else { continue }
        slots[index].isTimedOut = true
        tasks.append(task)
      }
      return tasks
    }
    for task in overdue { task.cancel() }
  }
}
