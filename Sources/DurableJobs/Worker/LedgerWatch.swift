import Locking
import Logging

/// Asks the ledger all the time whether it answers, and has a worker claim nothing while it does not: what such a
/// worker claims it cannot do, while another may be able to.
struct LedgerWatch<B: Broker, L: Ledger>: Sendable {
  let ledger: L
  let runners: [QueueRunner<B, L>]
  let logger: Logger

  /// Between two questions.
  private static var interval: Duration { .milliseconds(400) }
  /// After so long without an answer the ledger counts as silent.
  private static var patience: Duration { .seconds(1) }

  func run() async {
    let answered = Locked(ContinuousClock.now)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await ask(answered) }
      group.addTask { await judge(answered) }
    }
  }

  private func ask(_ answered: Locked<ContinuousClock.Instant>) async {
    while !Task.isCancelled {
      do {
        try await ledger.ping(within: Self.patience)
        answered.withLock { $0 = .now }
      } catch {
        if Task.isCancelled { return }
        logger.debug("the ledger does not answer", metadata: [LogKeys.error: "\(error)"])
      }
      do { try await Task.sleep(for: Self.interval) } catch { return }
    }
  }

  /// Apart from the questions, which may hang.
  private func judge(_ answered: Locked<ContinuousClock.Instant>) async {
    var last = ContinuousClock.now
    while !Task.isCancelled {
      do { try await Task.sleep(for: .milliseconds(100)) } catch { return }
      let now = ContinuousClock.now
      // A process that stood still itself has heard nothing either: only its own time counts.
      if now - last > .milliseconds(500) { answered.withLock { $0 = max($0, now - Self.patience / 2) } }
      last = now
      let isSilent = now - answered.withLock { $0 } > Self.patience
      for runner in runners { runner.ledgerIsSilent(isSilent) }
    }
  }
}
