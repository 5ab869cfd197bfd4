import Logging

/// Marks in the broker which jobs have begun: a mark is an attempt.
struct BeginMarks<B: Broker, L: Ledger>: Sendable {
  let consumer: B.Consumer
  /// Between two rounds that mark what runs.
  let interval: Duration
  let slots: Slots
  let settlements: Settlements
  let logger: Logger

  /// Tells the broker that an item's jobs begin which must not begin without its knowing
  /// (`JobExecutor.Assignment.mustBeMarked`).
  ///
  /// - Returns: what is left to run; nil where the claims are not this worker's any more, or it stops before it could
  ///   say so.
  func marked(
    _ assignment: JobExecutor<B, L>.Assignment, until stop: StopSignal
  ) async -> JobExecutor<B, L>.Assignment? {
    var backoff = Backoff()
    while !Task.isCancelled {
      do {
        let own = try await consumer.begin(assignment.item.claims)
        return own.count == assignment.item.count ? assignment : assignment.keeping(own)
      } catch {
        if stop.isStopping || Task.isCancelled { break }
        logger.warning("the broker cannot be told which jobs begin", metadata: [LogKeys.error: "\(error)"])
        await backoff.pause(until: stop)
      }
    }
    // Not begun, so not counted.
    for claim in assignment.item.claims { settlements.add(.release(claim)) }
    return nil
  }

  /// Marks jobs that began a moment ago and still run. Most end sooner, and are never marked.
  func run() async {
    while !Task.isCancelled {
      do { try await Task.sleep(for: interval) } catch { return }
      let unmarked = slots.unmarked
      if unmarked.isEmpty { continue }
      do {
        _ = try await consumer.begin(unmarked.flatMap(\.claims))
        slots.mark(unmarked)
      } catch {
        // The next round tries again.
        logger.debug("running jobs cannot be marked yet", metadata: [LogKeys.error: "\(error)"])
      }
    }
  }
}
