import Locking
import Logging

/// Pings the ledger continuously, and stops a worker from claiming while it does not answer: the worker could not end
/// what it claims, while another might.
struct LedgerWatch<B: Broker, L: Ledger>: Sendable {
  let ledger: L
  let runners: [QueueRunner<B, L>]
  let logger: Logger

  /// The interval between pings.
  private static var interval: Duration { .milliseconds(400) }
  /// How long without an answer until the ledger counts as silent.
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

  /// Runs apart from the pings, which may hang.
  private func judge(_ answered: Locked<ContinuousClock.Instant>) async {
    var last = ContinuousClock.now
    while !Task.isCancelled {
      do { try await Task.sleep(for: .milliseconds(100)) } catch { return }
      let now = ContinuousClock.now
      // A suspended process received no answers either: only time in which it ran counts.
      if now - last > .milliseconds(500) { answered.withLock { $0 = max($0, now - Self.patience / 2) } }
      last = now
      let isSilent = now - answered.withLock { $0 } > Self.patience
      for runner in runners { runner.ledgerIsSilent(isSilent) }
    }
  }
}
