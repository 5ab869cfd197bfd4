import DurableJobs
import JobsTestSupport
import Testing

/// What brokers carry of payloads, and how many bytes at once.
@Suite(.timeLimit(.minutes(5))) struct BrokerPayloadTests {
  private func record(_ bytes: Int, isDurable: Bool = true, runAt: Int64? = nil) -> JobRecord {
    .test(String(repeating: "x", count: bytes), version: 3, isDurable: isDurable, runAt: runAt)
  }

  @Test(arguments: BrokerKind.allCases)
  func aLargePayloadStaysInTheLedger(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      let (small, large) = (record(PayloadLimit.carried), record(PayloadLimit.carried + 1))
      var traced = record(1 << 20, runAt: milliseconds(fromNow: .milliseconds(50)))
      traced.trace = .random()
      let unrecorded = record(PayloadLimit.unrecorded, isDurable: false)
      try await fixture.broker.push([small, large, traced, unrecorded])
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
          let job = try #require([small, large, traced, unrecorded].first { $0.id == claim.record.id })
          let isLarge = job.id == large.id || job.id == traced.id
          #expect(claim.record.payload == (isLarge ? [] : job.payload))
          #expect(claim.record.payloadInLedger == (isLarge ? job.payload.count : nil))
          #expect(claim.record.version == 3 && claim.record.trace == job.trace)
          #expect(claim.attempt == attempts)
        }
      }
      try check(1)
      // However it comes back.
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
  }

  @Test(arguments: BrokerKind.allCases)
  func aPayloadThatCameBackWithTheJobIsNotCarriedEither(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      let large = record(100_000)
      try await fixture.broker.push([large])
      let claim = try #require(try await consumer.claimAll(1).first)
      try await consumer.retry([ClaimRetry(claim: claim, delay: .zero, record: large)])
      let back = try await eventual("it is back") {
        _ = try await consumer.heartbeat()
        return try await consumer.claimNow().first
      }
      #expect(back.record.payload.isEmpty && back.record.payloadInLedger == 100_000)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aClaimIsBoundedByItsBytes(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      let jobs = (0..<200).map { _ in record(60_000, isDurable: false) }
      try await fixture.broker.push(jobs)
      var sizes: [Int] = []
      while sizes.reduce(0, +) < 200 {
        let claims = try await consumer.claim(1000, wait: .seconds(60))
        #expect(claims.reduce(0) { $0 + $1.record.payload.count } <= PayloadLimit.batch)
        sizes.append(claims.count)
        try await consumer.acknowledge(claims)
      }
      #expect(sizes.count <= 4, "no fewer than there is room for: \(sizes)")
      // Small ones that follow come in large claims again.
      try await fixture.broker.push((0..<1500).map { _ in record(10, isDurable: false) })
      var largest = 0
      var left = 1500
      while left > 0 {
        let claims = try await consumer.claim(1000, wait: .seconds(60))
        largest = max(largest, claims.count)
        left -= claims.count
      }
      #expect(largest > 500)
    }
  }
}
