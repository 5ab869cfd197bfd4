import Logging

/// Marks in the broker which jobs have begun: a mark is an attempt.
struct BeginMarks<C: BrokerConsumer>: Sendable {
  let consumer: C
  let state: SharedQueueState
  /// Between two rounds that mark what runs.
  let interval: Duration
  let clock: any WallClock
  let logger: Logger

  /// Tells the broker that jobs begin which must not begin without its knowing.
  ///
  /// - Returns: the receipts of those claims that are still this worker's; nil where it stops before it could say so.
  func begin(_ claims: [Claim], until stop: StopSignal) async -> Set<String>? {
    var backoff = Backoff()
    while !Task.isCancelled {
      do {
        return try await consumer.begin(claims)
      } catch {
        if stop.isStopping || Task.isCancelled { break }
        logger.warning("cannot mark beginning jobs in the broker", metadata: [LogKeys.error: "\(error)"])
        await backoff.pause(until: stop, clock)
      }
    }
    return nil
  }

  /// Marks jobs that began a moment ago and still run. Most end sooner, and are never marked.
  func run() async {
    while !Task.isCancelled {
      do { try await clock.sleep(for: interval) } catch { return }
      let unmarked = state.read { $0.unmarked }
      if unmarked.isEmpty { continue }
      do {
        _ = try await consumer.begin(unmarked.flatMap(\.claims))
        state.update { state in
          state.mark(unmarked)
          return []
        }
      } catch {
        // The next round tries again.
        logger.debug("cannot mark running jobs yet", metadata: [LogKeys.error: "\(error)"])
      }
    }
  }
}
