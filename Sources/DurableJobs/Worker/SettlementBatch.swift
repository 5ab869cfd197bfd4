#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Claims that are settled together, grouped by what ledger and broker do with them.
struct SettlementBatch {
  private(set) var acknowledged: [Claim] = []
  private(set) var completed: [Claim] = []
  private(set) var cancelled: [Claim] = []
  private(set) var released: [Claim] = []
  private(set) var handedBack: [Claim] = []
  private(set) var parked: [Claim] = []
  private(set) var deadLettered: [Claim] = []
  private(set) var dead: [DeadJob] = []
  private(set) var discardedClaims: [Claim] = []
  private(set) var discarded: [DeadJob] = []
  private(set) var retries: [ClaimRetry] = []
  /// The part of `retries` that the ledger records.
  private(set) var failed: [FailedJob] = []
  private(set) var snoozed: [ClaimRetry] = []
  /// The part of `snoozed` that the ledger records: when each is due.
  private(set) var postponed: [JobID: Date] = [:]

  /// - Parameter now: the start of delays.
  init(_ ended: [EndedClaim], at now: Date) {
    acknowledged.reserveCapacity(ended.count)
    for end in ended {
      let claim = end.claim
      switch end.outcome {
      case .acknowledge: acknowledged.append(claim)
      case .complete: completed.append(claim)
      case .park: parked.append(claim)
      case .cancel: cancelled.append(claim)
      case .release: released.append(claim)
      case .handBack: handedBack.append(claim)
      case .snooze(let delay):
        snoozed.append(ClaimRetry(claim: claim, delay: delay, record: claim.record))
        if claim.record.isDurable {
          postponed[claim.record.id] = now + delay / .seconds(1)
        }
      case .deadLetter(let failure):
        dead.append(DeadJob(record: claim.record, attempts: claim.attempt, failure: failure))
        deadLettered.append(claim)
      case .discard(let failure):
        discarded.append(DeadJob(record: claim.record, attempts: claim.attempt, failure: failure))
        discardedClaims.append(claim)
      case .retry(let failure, let delay):
        var record = claim.record
        record.attempts = claim.attempt
        if record.isDurable {
          failed.append(FailedJob(id: record.id, failure: failure, runAt: failure.at + delay / .seconds(1)))
        } else {
          record.failures.append(failure)
        }
        retries.append(ClaimRetry(claim: claim, delay: delay, record: record))
      }
    }
  }

  /// Claims whose outcome only their holder may record.
  var judged: [Claim] { deadLettered + discardedClaims + parked + (retries + snoozed).map(\.claim) }

  /// Drops those outcomes for claims that the worker no longer holds.
  mutating func keepJudged(_ isOwn: (Claim) -> Bool) {
    for index in deadLettered.indices.reversed() where !isOwn(deadLettered[index]) {
      deadLettered.remove(at: index)
      dead.remove(at: index)
    }
    for index in discardedClaims.indices.reversed() where !isOwn(discardedClaims[index]) {
      discardedClaims.remove(at: index)
      discarded.remove(at: index)
    }
    parked.removeAll { !isOwn($0) }
    retries.removeAll { !isOwn($0.claim) }
    let kept = Set(retries.map(\.claim.record.id))
    failed.removeAll { !kept.contains($0.id) }
    snoozed.removeAll { !isOwn($0.claim) }
    let stillSnoozed = Set(snoozed.map(\.claim.record.id))
    postponed = postponed.filter { stillSnoozed.contains($0.key) }
  }
}
