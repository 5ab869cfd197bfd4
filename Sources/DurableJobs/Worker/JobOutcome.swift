/// How a claim ended: decided once, where its handler ran, and carried out by ledger and broker.
enum JobOutcome: Sendable {
  /// Nothing is pending any more: the broker forgets the job.
  case acknowledge
  /// Done, and still pending in the ledger, which ends it first.
  case complete
  /// The attempt failed; the next one comes after a delay.
  indirect case retry(JobFailure, delay: Duration)
  /// The last attempt failed.
  indirect case deadLetter(JobFailure)
  /// Its handler has discarded it.
  indirect case discard(JobFailure)
  /// This worker cannot run it; it waits for one that can.
  case park
  /// An operator does not want it any more.
  case cancel
  /// Ready again at once; the attempt does not count.
  case release
  /// It could not run just now: ready again after a pause; the attempt does not count.
  indirect case handBack(reason: String)
  /// The handler has put it off: ready again after a delay; the attempt does not count.
  case snooze(Duration)

  /// What the attempt counts as.
  enum Attempt: Sendable {
    case completed, failed, dead, discarded
  }

  /// What the attempt counts as; nil where there was none.
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

/// How the claims of a work item ended, in their order.
enum JobOutcomes: Sendable {
  case one(JobOutcome)
  case each([JobOutcome])
}

extension JobCounts {
  /// Adds what became of a claim, if that was an attempt.
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
    self.run += run
    wait += claim.wait(until: began)
  }
}

extension Claim {
  /// How long the job was ready before it began, in nanoseconds.
  ///
  /// - Parameter began: milliseconds since 1970.
  func wait(until began: Int64) -> Int64 { max(0, began - readyAt.unixMilliseconds) * 1_000_000 }
}
