/// A processor's unit of work: one job, or jobs of one kind together.
struct WorkItem: Sendable {
  enum Content: Sendable {
    case single(Claim)
    case batch([Claim])
  }

  let content: Content
  /// Its kind's index among those that run here; nil for a kind that does not.
  let kind: Int?

  init(_ content: Content, kind: Int?) {
    self.content = content
    self.kind = kind
  }

  var claims: [Claim] {
    switch content {
    case .single(let claim): [claim]
    case .batch(let claims): claims
    }
  }

  var count: Int {
    switch content {
    case .single: 1
    case .batch(let claims): claims.count
    }
  }

  /// Whether `isSuch` holds for any of its claims.
  func contains(where isSuch: (Claim) -> Bool) -> Bool {
    switch content {
    case .single(let claim): isSuch(claim)
    case .batch(let claims): claims.contains(where: isSuch)
    }
  }

  /// The item with only the claims of these receipts; nil if none is left.
  func keeping(_ receipts: Set<String>) -> WorkItem? {
    let kept = claims.filter { receipts.contains($0.receipt) }
    guard let first = kept.first else { return nil }
    switch content {
    case .single: return WorkItem(.single(first), kind: kind)
    case .batch: return WorkItem(.batch(kept), kind: kind)
    }
  }

  /// Calls `body` with each claim and its outcome.
  func forEach(_ outcomes: JobOutcomes, _ body: (Claim, JobOutcome) -> Void) {
    switch (content, outcomes) {
    case (.single(let claim), .one(let outcome)): body(claim, outcome)
    case (_, .one(let outcome)): for claim in claims { body(claim, outcome) }
    case (_, .each(let outcomes)): for (claim, outcome) in zip(claims, outcomes) { body(claim, outcome) }
    }
  }
}
