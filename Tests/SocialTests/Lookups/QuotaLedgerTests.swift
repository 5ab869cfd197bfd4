import Foundation
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct QuotaLedgerTests {
  private let key = YouTubeKey("key")

  private func reserve(
    _ count: Int, _ ledger: QuotaLedger, limit: Int, cost: Int = 1, on day: PacificDay = PacificDay(containing: Date())
  ) async throws -> Int {
    try await ledger.reserve(count, of: key, (.units, cost), limit: limit, on: day, at: day.start).count
  }

  @Test func aReservationGetsWhatThereIs() async throws {
    try await App.run { (app) async throws -> Void in
      let ledger = QuotaLedger(pool: app.pool)
      #expect(try await reserve(3, ledger, limit: 10) == 3)
      #expect(try await reserve(9, ledger, limit: 10) == 7)
      #expect(try await reserve(1, ledger, limit: 10) == 0)
      // The budget was raised, and then lowered below the spent amount.
      #expect(try await reserve(5, ledger, limit: 12) == 2)
      #expect(try await reserve(5, ledger, limit: 4) == 0)
      #expect(try await reserve(5, ledger, limit: 0) == 0)
    }
    try await App.run { (app) async throws -> Void in
      let ledger = QuotaLedger(pool: app.pool)
      #expect(try await reserve(9, ledger, limit: 250, cost: 100) == 2)
      #expect(try await reserve(1, ledger, limit: 250, cost: 100) == 0)
      #expect(try await reserve(99, ledger, limit: 250) == 50)
      #expect(try await reserve(1, ledger, limit: 250) == 0)
    }
    try await App.run { (app) async throws -> Void in
      #expect(try await reserve(1, QuotaLedger(pool: app.pool), limit: 50, cost: 100) == 0)
    }
  }

  @Test func racingReservationsNeverOverspend() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    try await App.run { (app) async throws -> Void in
      let ledger = QuotaLedger(pool: app.pool)
      let day = PacificDay(containing: Date())
      let limit = 200
      let held = try await withThrowingTaskGroup(of: (held: Int, spent: Int).self) { group in
        for worker in 0..<8 {
          group.addTask {
            var random = Seeded(seed: seed &+ UInt64(worker))
            var (held, spent) = (0, 0)
            for _ in 0..<40 {
              let wanted = Int.random(in: 1...9, using: &random)
              let got = try await reserve(wanted, ledger, limit: limit, on: day)
              #expect(got <= wanted, "seed \(seed)")
              // Some are returned, some spent, and sometimes the worker dies before it reports.
              let fate = Int.random(in: 0..<4, using: &random)
              let ticket = QuotaLedger.Ticket(key: key, day: day, budget: .units, cost: 1)
              if fate == 0 {
                held += got
              } else {
                try await ledger.settle(
                  Array(repeating: QuotaLedger.Use(ticket: ticket, isSpent: fate == 1), count: got))
                if fate == 1 { spent += got }
              }
              let row = try await app.pool.query("SELECT reserved + spent FROM youtube_quota")[0].decode(Int.self)
              #expect(row <= limit, "seed \(seed)")
            }
            return (held, spent)
          }
        }
        return try await group.reduce(into: (held: 0, spent: 0)) { sum, one in
          sum = (sum.held + one.held, sum.spent + one.spent)
        }
      }
      let row = try await app.pool.query("SELECT reserved, spent FROM youtube_quota")[0].decode(Int.self, Int.self)
      #expect(row == (held.held, held.spent), "seed \(seed)")
    }
  }

  @Test func eachDayHasItsBudget() async throws {
    try await App.run { (app) async throws -> Void in
      let ledger = QuotaLedger(pool: app.pool)
      // Two days of 23 and 25 hours, with their neighbours.
      for start in ["2026-03-07T12:00:00Z", "2026-10-31T12:00:00Z"] {
        var day = PacificDay(containing: try date(start))
        for _ in 0..<3 {
          #expect(try await reserve(5, ledger, limit: 4, on: day) == 4)
          #expect(try await reserve(1, ledger, limit: 4, on: PacificDay(containing: day.end - 1)) == 0)
          day = PacificDay(containing: day.end)
        }
      }
      #expect(try await app.count("SELECT count(*) FROM youtube_quota") == 6)
    }
  }

  @Test func aBudgetThatIsCalledSpentTooEarlyIsAskedForByOneCallAtATime() async throws {
    try await App.run { (app) async throws -> Void in
      let ledger = QuotaLedger(pool: app.pool)
      var date = Date()
      let day = PacificDay(containing: date)
      func reserve() async throws -> QuotaLedger.Grant {
        try await ledger.reserve(9, of: key, (.searches, 1), limit: 100, on: day, at: date)
      }
      func ticket(isProbe: Bool) -> QuotaLedger.Ticket {
        QuotaLedger.Ticket(key: key, day: day, budget: .searches, cost: 1, isProbe: isProbe)
      }
      #expect(try await reserve() == QuotaLedger.Grant(count: 9))
      // Nine concurrent calls count once.
      for _ in 0..<9 {
        try await ledger.markSpentOut(ticket(isProbe: false), limit: 100, at: date)
        try await ledger.settle([QuotaLedger.Use(ticket: ticket(isProbe: false), isSpent: false)])
      }
      for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
        date += TimeInterval(minutes * 60) - 1
        #expect(try await reserve().count == 0, "before \(minutes) min")
        date += 1
        #expect(try await reserve() == QuotaLedger.Grant(count: 1, isProbe: true), "after \(minutes) min")
        #expect(try await reserve().count == 0, "beside the probe")
        try await ledger.markSpentOut(ticket(isProbe: true), limit: 100, at: date)
        try await ledger.settle([QuotaLedger.Use(ticket: ticket(isProbe: true), isSpent: false)])
      }
      date += 3600
      #expect(try await reserve().isProbe)
      try await ledger.settle([QuotaLedger.Use(ticket: ticket(isProbe: true), isSpent: true, isServed: true)])
      #expect(try await reserve() == QuotaLedger.Grant(count: 9))
      // With half of it used, the refusal is believed until midnight.
      try await app.pool.execute("UPDATE youtube_quota SET spent = 50")
      try await ledger.markSpentOut(ticket(isProbe: false), limit: 100, at: date)
      date += 7200
      #expect(try await reserve().count == 0)
    }
  }

  @Test func keysTakeTurnsAndTogetherHaveTheirSum() async throws {
    try await LookupStage.run(keys: ["a", "b", "c"]) { (stage) async throws -> Void in
      var stage = stage
      stage.rules.budgets.searches = 10
      let youtube = stage.youtube()
      var labels: Set<String> = []
      for _ in 0..<3 { labels.formUnion(try await youtube.reserve(1, isSearch: true).map(\.key.label)) }
      #expect(labels.count == 3)
      #expect(try await youtube.reserve(20, isSearch: true).count == 20)
      #expect(try await youtube.reserve(20, isSearch: true).count == 7)
      #expect(try await youtube.reserve(1, isSearch: true).isEmpty)
    }
  }

  @Test func aKeyIsNamedByItsLabelAlone() {
    let key = YouTubeKey("AIzaSy-secret")
    #expect(key.label.count == 12)
    #expect("\(key)" == key.label && String(reflecting: key) == key.label)
    #expect(YouTubeKey("AIzaSy-secret").label == key.label && YouTubeKey("AIzaSy-secre").label != key.label)
  }
}

/// Random numbers reproducible from a printed seed (SplitMix64).
private struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
