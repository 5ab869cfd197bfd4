import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

extension CelebAccount {
  /// The channel number `number`.
  static func channel(_ number: Int) throws -> CelebAccount {
    try CelebAccount(.youtube, "UC" + String(repeating: "x", count: 18) + String(10_000 + number).suffix(4))
  }
}

extension App {
  @discardableResult
  func register(
    _ account: CelebAccount, by fan: Int, limit: Int = 3, now: Date? = nil
  ) async throws -> FanCeleb {
    try await client.transaction {
      try await Celebs.register(account, by: fan, limit: limit, in: $0, now: now)
    }
  }

  @discardableResult
  func remove(_ account: CelebAccount, by fan: Int, now: Date? = nil) async throws -> Bool {
    try await client.transaction { try await Celebs.remove(account, by: fan, in: $0, now: now) }
  }

  @discardableResult
  func replace(_ former: CelebAccount, by account: CelebAccount, of fan: Int, limit: Int = 3) async throws -> FanCeleb {
    try await client.transaction { try await Celebs.replace(former, by: account, of: fan, limit: limit, in: $0) }
  }

  @discardableResult
  func edit(_ account: CelebAccount, _ edit: Celebs.Edit, of fan: Int) async throws -> FanCeleb {
    try await client.transaction { try await Celebs.edit(account, edit, of: fan, in: $0.sql) }
  }

  @discardableResult
  func heart(_ account: CelebAccount, by fan: Int, now: Date? = nil) async throws -> Hearts.Given {
    let heart = Heart(to: account, by: fan)
    return try await client.transaction { try await Hearts.give([heart], in: $0, now: now)[0].get() }
  }

  @discardableResult
  func refresh(_ job: RankingRefresh = RankingRefresh(), now: Date? = nil) async throws -> RankingRefresh.Outcome {
    try await pool.transaction { try await job.run(in: $0, now: now) }
  }

  /// A whole ranking, read in pages of `limit`.
  func ranking(_ key: RankingKey, limit: Int = 100) async throws -> [RankedCeleb] {
    var items: [RankedCeleb] = []
    var cursor: Int?
    repeat {
      let page = try await Rankings.page(of: key, PageRequest(before: cursor, limit: limit), in: pool)
      #expect(page.items.count == limit || page.next == nil)
      items += page.items
      cursor = page.next
    } while cursor != nil
    return items
  }

  /// A celeb's hearts and followers of all time, as counted so far.
  func counts(_ account: CelebAccount) async throws -> [Int] {
    let rows = try await pool.query("SELECT hearts, followers FROM celebs WHERE account = \(account.name)")
      .decode(Int.self, Int.self)
    return rows.first.map { [$0.0, $0.1] } ?? []
  }

  func expectExactRankings(now: Date? = nil, _ location: SourceLocation = #_sourceLocation) async throws {
    let audit = try await RankingAudit.run(on: database, now: now)
    #expect(audit.isExact, "\(audit)", sourceLocation: location)
  }
}
