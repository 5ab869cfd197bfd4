import DurableJobs
import Locking

/// One leader per role.
enum LedgerLeadChecks {
  static let all: [LedgerCheck] = [
    LedgerCheck("one leads at a time") { try await oneLeadsAtATime($0) },
    LedgerCheck("leadership is handed over when the leader goes") { try await leadershipIsHandedOver($0) },
    LedgerCheck("a leader's error is thrown and ends its turn") { try await anErrorOfTheLeaderEndsItsTurn($0) },
    LedgerCheck("a wait to lead can be cancelled") { try await aWaitToLeadCanBeCancelled($0) },
  ]

  private static func oneLeadsAtATime(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let state = Locked((leading: 0, highest: 0, turns: 0))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await ledger.lead("role") {
            state.withLock { state in
              state.leading += 1
              state.highest = max(state.highest, state.leading)
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
    let (highest, turns) = state.withLock { ($0.highest, $0.turns) }
    try expect(highest, equals: 1)
    try expect(turns, equals: 4)
  }

  private static func leadershipIsHandedOver(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (firstLeads, secondLeads, otherLeads) = (Gate(), Gate(), Gate())
    try await withThrowingTaskGroup(of: Void.self) { group in
      // Owned here: it ends with this check, by the defer below.
      let first = Task {
        try await ledger.lead("role") {
          firstLeads.open()
          try await Task.sleep(for: .seconds(3600))
        }
      }
      defer { first.cancel() }
      try await firstLeads.wait()
      group.addTask { try await ledger.lead("role") { secondLeads.open() } }
      group.addTask { try await ledger.lead("another role") { otherLeads.open() } }
      try await otherLeads.wait()
      try expect(!secondLeads.hasOpened)
      first.cancel()
      try await expect(throwing: (any Error).self) { try await first.value }
      try await secondLeads.wait()
      try await group.waitForAll()
    }
  }

  private static func anErrorOfTheLeaderEndsItsTurn(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    try await expect(throwing: Rollback.self) { try await ledger.lead("role") { throw Rollback() } }
    let leads = Gate()
    try await ledger.lead("role") { leads.open() }
    try expect(leads.hasOpened)
  }

  private static func aWaitToLeadCanBeCancelled(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let leads = Gate()
    // Owned here: both end with this check.
    let leader = Task {
      try await ledger.lead("role") {
        leads.open()
        try await Task.sleep(for: .seconds(3600))
      }
    }
    defer { leader.cancel() }
    try await leads.wait()
    let waiter = Task { try await ledger.lead("role") { throw ConformanceFailure("there is a leader already") } }
    waiter.cancel()
    try await expect(throwing: (any Error).self) { try await waiter.value }
    leader.cancel()
    try await expect(throwing: (any Error).self) { try await leader.value }
  }
}
