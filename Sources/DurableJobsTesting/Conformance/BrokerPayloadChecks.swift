import DurableJobs

/// The payloads that brokers carry, and the bytes per claim.
enum BrokerPayloadChecks {
  static let all: [BrokerCheck] = [
    BrokerCheck("a large payload stays in the ledger") { try await aLargePayloadStaysInTheLedger($0) },
    BrokerCheck("a large payload that comes with a retry is not carried either") {
      try await aRetriedPayloadIsNotCarriedEither($0)
    },
    BrokerCheck("a claim is bounded by its bytes") { try await aClaimIsBoundedByItsBytes($0) },
  ]

  private static func record(_ bytes: Int, isDurable: Bool = true, runAt: Int64? = nil) -> JobRecord {
    .test(String(repeating: "x", count: bytes), version: 3, isDurable: isDurable, runAt: runAt)
  }

  private static func aLargePayloadStaysInTheLedger(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    let (small, large) = (record(PayloadLimit.carried), record(PayloadLimit.carried + 1))
    var traced = record(1 << 20, runAt: milliseconds(fromNow: .milliseconds(50)))
    (traced.trace, traced.maxAttempts, traced.timeout) = (.begin(), 3, .milliseconds(1500))
    let unrecorded = record(PayloadLimit.unrecorded, isDurable: false)
    try await subject.broker.push([small, large, traced, unrecorded])
    var claims: [Claim] = []
    func claimFour() async throws {
      claims = []
      try await eventually("four claims") {
        _ = try await consumer.heartbeat()
        claims += try await consumer.claimNow()
        return claims.count == 4
      }
    }
    try await claimFour()
    func check(_ attempts: Int) throws {
      for claim in claims {
        let job = try require([small, large, traced, unrecorded].first { $0.id == claim.record.id })
        let isLarge = job.id == large.id || job.id == traced.id
        try expect(claim.record.payload, equals: (isLarge ? [] : job.payload))
        try expect(claim.record.payloadInLedger, equals: (isLarge ? job.payload.count : nil))
        try expect(claim.record.version == 3 && claim.record.trace == job.trace)
        try expect(claim.record.maxAttempts == job.maxAttempts && claim.record.timeout == job.timeout)
        try expect(claim.attempt, equals: attempts)
      }
    }
    try check(1)
    // The same after the jobs are handed back.
    try await consumer.release(claims)
    try await claimFour()
    try check(1)
    try await consumer.retry(
      claims.map { claim in
        var record = claim.record
        record.attempts = 1
        return ClaimRetry(claim: claim, delay: .zero, record: record)
      })
    try await claimFour()
    try check(2)
  }

  private static func aRetriedPayloadIsNotCarriedEither(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    let large = record(100_000)
    try await subject.broker.push([large])
    let claim = try await require(consumer.claimAll(1).first)
    try await consumer.retry([ClaimRetry(claim: claim, delay: .zero, record: large)])
    let back = try await eventual("it is back") {
      _ = try await consumer.heartbeat()
      return try await consumer.claimNow().first
    }
    try expect(back.record.payload.isEmpty && back.record.payloadInLedger == 100_000)
  }

  private static func aClaimIsBoundedByItsBytes(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    let jobs = (0..<200).map { _ in record(60_000, isDurable: false) }
    try await subject.broker.push(jobs)
    var sizes: [Int] = []
    while sizes.reduce(0, +) < 200 {
      let claims = try await consumer.claim(1000, wait: .seconds(60))
      try expect(claims.reduce(0) { $0 + $1.record.payload.count } <= PayloadLimit.batch)
      sizes.append(claims.count)
      try await consumer.acknowledge(claims)
    }
    try expect(sizes.count <= 4, "no fewer than there is room for: \(sizes)")
    // Small ones after them come in large claims again.
    try await subject.broker.push((0..<1500).map { _ in record(10, isDurable: false) })
    var largest = 0
    var left = 1500
    while left > 0 {
      let claims = try await consumer.claim(1000, wait: .seconds(60))
      largest = max(largest, claims.count)
      left -= claims.count
    }
    try expect(largest > 500)
  }
}
