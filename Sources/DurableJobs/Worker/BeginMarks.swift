import Logging

/// Marks begun jobs in the broker; a mark counts as an attempt.
struct BeginMarks<C: BrokerConsumer>: Sendable {
  let consumer: C
  let state: SharedQueueState
  /// The interval between rounds that mark running jobs.
  let interval: Duration
  let clock: any WallClock
  let logger: Logger

  /// Marks jobs that must not begin before the broker has recorded it.
  ///
  /// - Returns: the receipts of the claims that this worker still holds; nil if it stops before the broker answered.
  func begin(_ claims: [Claim], until stop: StopSignal) async -> Set<String>? {
    var backoff = Backoff()
    while !Task.isCancelled {
      do {
        return try await consumer.begin(claims)
      } catch {
        if stop.isStopping || Task.isCancelled { break }
        if backoff.isNews(clock) {
          logger.warning("cannot mark beginning jobs in the broker", metadata: [LogKeys.error: "\(error)"])
        }
        await backoff.pause(until: stop, clock)
      }
    }
    return nil
  }

  /// Marks jobs that began a moment ago and are still running. Most end sooner and are never marked.
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
        // The next round retries.
        logger.debug("cannot mark running jobs yet", metadata: [LogKeys.error: "\(error)"])
      }
    }
  }
}
