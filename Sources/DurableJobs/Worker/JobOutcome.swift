/// How a claim ended: decided once, after its handler, and carried out by ledger and broker.
enum JobOutcome: Sendable {
  /// Nothing is pending any more: the broker removes the job.
  case acknowledge
  /// Done, but still pending in the ledger, which ends it first.
  case complete
  /// The attempt failed; the next one follows after a delay.
  indirect case retry(JobFailure, delay: Duration)
  /// The last attempt failed.
  indirect case deadLetter(JobFailure)
  /// The handler discarded it.
  indirect case discard(JobFailure)
  /// This worker cannot run it; it is parked for one that can.
  case park
  /// An operator cancelled it.
  case cancel
  /// Ready again at once; the attempt is not counted.
  case release
  /// It could not run now: ready again after a pause; the attempt is not counted.
  indirect case handBack(reason: String)
  /// The handler snoozed it: ready again after a delay; the attempt is not counted.
  case snooze(Duration)

  /// What an attempt is counted as.
  enum Attempt: Sendable {
    case completed, failed, dead, discarded
  }

  /// What the attempt is counted as; nil if it is not counted.
  var attempt: Attempt? {
    switch self {
    case .acknowledge, .complete: .completed
    case .retry: .failed
    case .deadLetter: .dead
    case .discard: .discarded
    case .park, .cancel, .release, .handBack, .snooze: nil
    }
  }
}

/// A claim that ended, and how.
struct EndedClaim: Sendable {
  let claim: Claim
  let outcome: JobOutcome
}

/// The outcomes of a work item's claims, in their order.
enum JobOutcomes: Sendable {
  case one(JobOutcome)
  case each([JobOutcome])
}

extension JobCounts {
  /// Adds a claim's outcome, if it counts as an attempt.
  ///
  /// - Parameters:
  ///   - began: milliseconds since 1970.
  ///   - run: nanoseconds.
  mutating func add(_ outcome: JobOutcome, of claim: Claim, began: Int64, run: Int64) {
    switch outcome.attempt {
    case .completed, .discarded: completed += 1
    case .failed: failed += 1
    case .dead: dead += 1
    case nil: return
    }
    let waited = claim.wait(until: began)
    self.run += .nanoseconds(run)
    wait += .nanoseconds(waited)
    runTimes.add(nanoseconds: run)
    waitTimes.add(nanoseconds: waited)
  }
}

extension Claim {
  /// How long the job was ready before it began, in nanoseconds.
  ///
  /// - Parameter began: milliseconds since 1970.
  func wait(until began: Int64) -> Int64 { max(0, began - readyAt.unixMilliseconds) * 1_000_000 }
}
