import Locking

/// Runs a query at most once a second. All callers share the result and any query in progress.
final class Probe<Answer: Sendable>: Sendable {
  private struct State {
    var last: (answer: Answer, at: ContinuousClock.Instant)?
    var isAsking = false
    var waiting: [CheckedContinuation<Answer, Never>] = []
  }

  private let state = Locked(State())
  private let interval: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  private let ask: @Sendable () async -> Answer

  /// - Parameters:
  ///   - interval: the maximum age of a result.
  ///   - ask: runs the query; must be bounded in time.
  init(
    interval: Duration = .seconds(1), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    ask: @escaping @Sendable () async -> Answer
  ) {
    self.interval = interval
    self.now = now
    self.ask = ask
  }

  private enum Step {
    case answer(Answer)
    case ask
    case wait
  }

  func answer() async -> Answer {
    let step = state.withLock { [interval, now] state -> Step in
      if let last = state.last, now() - last.at < interval { return .answer(last.answer) }
      if state.isAsking { return .wait }
      state.isAsking = true
      return .ask
    }
    switch step {
    case .answer(let answer): return answer
    case .ask:
      let answer = await ask()
      let waiting = state.withLock { [now] state in
        state.last = (answer, now())
        state.isAsking = false
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume(returning: answer) }
      return answer
    case .wait:
      return await withCheckedContinuation { continuation in
        // The result may have arrived meanwhile.
        let answer = state.withLock { state -> Answer? in
          if state.isAsking {
            state.waiting.append(continuation)
            return nil
          }
          return state.last?.answer
        }
        if let answer { continuation.resume(returning: answer) }
      }
    }
  }
}
