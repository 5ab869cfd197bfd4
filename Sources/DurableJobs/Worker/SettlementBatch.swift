/// Claims that are settled together, sorted by what ledger and broker do with them.
struct SettlementBatch {
  private(set) var acknowledged: [Claim] = []
  private(set) var completed: [Claim] = []
  private(set) var cancelled: [Claim] = []
  private(set) var released: [Claim] = []
  private(set) var handedBack: [Claim] = []
  private(set) var parked: [Claim] = []
  private(set) var deadLettered: [Claim] = []
  private(set) var dead: [DeadJob] = []
  private(set) var retries: [ClaimRetry] = []
  /// Of `retries` what the ledger notes.
  private(set) var failed: [FailedJob] = []

  init(_ ended: [EndedClaim]) {
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
      case .deadLetter(let failure):
        dead.append(DeadJob(record: claim.record, attempts: claim.attempt, failure: failure))
        deadLettered.append(claim)
      case .retry(let failure, let delay):
        var record = claim.record
        record.attempts = claim.attempt
        if record.isDurable {
          failed.append(FailedJob(id: record.id, failure: failure, runAt: failure.at + delay.milliseconds))
        } else {
          record.failures.append(failure)
        }
        retries.append(ClaimRetry(claim: claim, delay: delay, record: record))
      }
    }
  }

  /// The claims of which a judgement is noted that only their holder may pass.
  var judged: [Claim] { deadLettered + parked + retries.map(\.claim) }

  /// Leaves out judgements on claims that are not the worker's own.
  mutating func keepJudged(_ isOwn: (Claim) -> Bool) {
    for index in deadLettered.indices.reversed() where !isOwn(deadLettered[index]) {
      deadLettered.remove(at: index)
      dead.remove(at: index)
    }
    parked.removeAll { !isOwn($0) }
    retries.removeAll { !isOwn($0.claim) }
    let kept = Set(retries.map(\.claim.record.id))
    failed.removeAll { !kept.contains($0.id) }
  }
}
