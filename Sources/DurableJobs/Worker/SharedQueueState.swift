import Locking

/// A queue's state behind the lock that all tasks of the queue share. It performs the state's actions: resumes waiting
/// tasks, cancels tasks, and sends orders to the broker.
final class SharedQueueState: Sendable {
  /// A place where one task waits until the state wakes it.
  private struct Wait {
    private var waiter: CheckedContinuation<Void, Never>?
    /// Woken before it waited.
    private var isSignalled = false

    /// - Returns: false if it was already woken and does not wait.
    mutating func enter(_ waiter: CheckedContinuation<Void, Never>) -> Bool {
      if isSignalled {
        isSignalled = false
        return false
      }
      self.waiter = waiter
      return true
    }

    /// - Returns: the waiter, to resume outside the lock.
    mutating func signal() -> CheckedContinuation<Void, Never>? {
      defer { waiter = nil }
      if waiter == nil { isSignalled = true }
      return waiter
    }
  }

  private enum Place {
    case claimer, settler
    case processor(Int)
  }

  private struct Content {
    var state: QueueState
    var claimer = Wait()
    var settler = Wait()
    var processors: [Wait]
    var tasks: [Task<Bool, Never>?]

    mutating func enter(_ waiter: CheckedContinuation<Void, Never>, at place: Place) -> Bool {
      switch place {
      case .claimer: claimer.enter(waiter)
      case .settler: settler.enter(waiter)
      case .processor(let index): processors[index].enter(waiter)
      }
    }
  }

  /// The part of an action that happens outside the lock.
  private enum Effect {
    case resume(CheckedContinuation<Void, Never>)
    case cancel(Task<Bool, Never>)
    case order(QueueState.BrokerOrder)
  }

  private let content: Locked<Content>
  /// Orders to the broker. For one task.
  let orders: AsyncStream<QueueState.BrokerOrder>
  private let ordered: AsyncStream<QueueState.BrokerOrder>.Continuation

  init(_ state: QueueState) {
    content = Locked(
      Content(
        state: state, processors: Array(repeating: Wait(), count: state.concurrency),
        tasks: Array(repeating: nil, count: state.concurrency)))
    (orders, ordered) = AsyncStream.makeStream()
  }

  // MARK: Events

  func read<Result: Sendable>(_ body: (QueueState) -> Result) -> Result {
    content.withLock { body($0.state) }
  }

  /// Applies an event, and performs its actions.
  @discardableResult
  func update<Result: Sendable>(_ event: (inout QueueState) -> (Result, [QueueState.Action])) -> Result {
    let (result, effects) = content.withLock { content -> (Result, [Effect]) in
      let (result, actions) = event(&content.state)
      return (result, Self.effects(of: actions, &content))
    }
    for effect in effects { perform(effect) }
    return result
  }

  /// Overload for events without a result.
  func update(_ event: (inout QueueState) -> [QueueState.Action]) {
    update { state -> (Void, [QueueState.Action]) in ((), event(&state)) }
  }

  private static func effects(of actions: [QueueState.Action], _ content: inout Content) -> [Effect] {
    // The common case under load.
    if actions.isEmpty { return [] }
    return actions.compactMap { action in
      switch action {
      case .wakeClaimer: content.claimer.signal().map { .resume($0) }
      case .wakeSettler: content.settler.signal().map { .resume($0) }
      case .wake(let processor): content.processors[processor].signal().map { .resume($0) }
      case .cancel(let processor): content.tasks[processor].map { .cancel($0) }
      case .broker(let order): .order(order)
      }
    }
  }

  private func perform(_ effect: Effect) {
    switch effect {
    case .resume(let waiter): waiter.resume()
    case .cancel(let task): task.cancel()
    case .order(let order): ordered.yield(order)
    }
  }

  // MARK: Loops

  /// How many jobs to claim; waits until there is room. nil once the worker stops. For one task.
  func room() async -> Int? {
    while true {
      switch content.withLock({ $0.state.claimTurn() }) {
      case .claim(let room): return room
      case .stop: return nil
      case .wait: await wait(at: .claimer)
      }
    }
  }

  /// All claims that ended since the last call; waits until there are some. nil once nothing is running and all is
  /// settled. For one task.
  ///
  /// The batch is taken when the task resumes, not when the first claim wakes it, so claims that end in between are
  /// included.
  func unsettled() async -> [EndedClaim]? {
    while true {
      switch update({ $0.settleTurn() }) {
      case .settle(let batch): return batch
      case .stop: return nil
      case .wait: await wait(at: .settler)
      }
    }
  }

  /// A processor's next step, as of `now`.
  func turn(of processor: Int, at now: Moment) -> QueueState.Turn {
    content.withLock { $0.state.turn(of: processor, at: now) }
  }

  /// A processor's item ended.
  ///
  /// - Returns: its next step.
  func ended(_ processor: Int, _ outcomes: JobOutcomes, at now: Moment) -> QueueState.Turn {
    update { state in
      let actions = state.ended(processor, outcomes, at: now)
      return (state.turn(of: processor, at: now), actions)
    }
  }

  /// Waits until a processor has work.
  func wait(_ processor: Int) async { await wait(at: .processor(processor)) }

  private func wait(at place: Place) async {
    await withCheckedContinuation { waiter in
      if !content.withLock({ $0.enter(waiter, at: place) }) { waiter.resume() }
    }
  }

  // MARK: Tasks

  /// Runs `work` for a processor until it returns true, in a new task each time it was cancelled.
  func run(_ processor: Int, _ work: @escaping @Sendable () async -> Bool) async {
    var isFinished = false
    while !isFinished {
      content.withLock { content in
        content.tasks[processor] = nil
        content.state.restarted(processor)
      }
      // Owned here: awaited below, and cancelled with the task that runs the processor.
      let task = Task { await work() }
      // It may already run a job, or even have exceeded that job's limit.
      let isCutOff = content.withLock { content in
        content.tasks[processor] = task
        return content.state.isCutOff(processor)
      }
      if isCutOff { task.cancel() }
      isFinished = await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }
}
