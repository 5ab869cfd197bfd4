import DurableJobs
import JobsTestSupport
import Locking
import Testing

@Suite(.timeLimit(.minutes(5))) struct LedgerLeadTests {
  @Test(arguments: LedgerKind.allCases)
  func oneLeadsAtATime(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let state = Locked((leading: 0, most: 0, turns: 0))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            try await ledger.lead("role") {
              state.withLock { state in
                state.leading += 1
                state.most = max(state.most, state.leading)
              }
              for _ in 0..<50 { await Task.yield() }
              state.withLock { state in
                state.leading -= 1
                state.turns += 1
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let (most, turns) = state.withLock { ($0.most, $0.turns) }
      #expect(most == 1)
      #expect(turns == 4)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func leadershipIsHandedOverWhenTheLeaderGoes(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (firstLeads, secondLeads, otherLeads) = (Gate(), Gate(), Gate())
      try await withThrowingTaskGroup(of: Void.self) { group in
        let first = Task {
          try await ledger.lead("role") {
            firstLeads.open()
            try await Task.sleep(for: .seconds(3600))
          }
        }
        try await firstLeads.wait()
        group.addTask { try await ledger.lead("role") { secondLeads.open() } }
        group.addTask { try await ledger.lead("another role") { otherLeads.open() } }
        try await otherLeads.wait()
        #expect(!secondLeads.hasOpened)
        first.cancel()
        await #expect(throws: (any Error).self) { try await first.value }
        try await secondLeads.wait()
        try await group.waitForAll()
      }
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func anErrorOfTheLeaderIsThrownAndEndsItsTurn(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      await #expect(throws: Rollback.self) { try await ledger.lead("role") { throw Rollback() } }
      let leads = Gate()
      try await ledger.lead("role") { leads.open() }
      #expect(leads.hasOpened)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func whoWaitsToLeadCanBeCancelled(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let leads = Gate()
      let leader = Task {
        try await ledger.lead("role") {
          leads.open()
          try await Task.sleep(for: .seconds(3600))
        }
      }
      try await leads.wait()
      let waiter = Task { try await ledger.lead("role") { Issue.record("there is a leader already") } }
      waiter.cancel()
      await #expect(throws: (any Error).self) { try await waiter.value }
      leader.cancel()
      await #expect(throws: (any Error).self) { try await leader.value }
    }
  }
}
