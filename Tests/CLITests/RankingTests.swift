import Foundation
import LibPQClient
import ProgramTestSupport
import SocialAdmin
import Testing

@Suite("fanmill ranking", .timeLimit(.minutes(5)))
struct RankingCommandTests {
  private struct Ranking: Decodable {
    struct Item: Decodable {
      let rank: Int
      let previousRank: Int?
      let change: Int?
      let account: String
      let hearts: Int
    }
    let items: [Item]
  }

  private struct Audit: Decodable {
    struct Item: Decodable { let what: String }
    let exact: Bool
    let items: [Item]
  }

  private struct Run: Decodable {
    let full: Bool
    let corrected: Int
  }

  @Test("A ranking is made, shown, made again with movement, broken, found broken and put right")
  func life() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      #expect(try await cli("ranking", "show", "youtube").output.contains("no ranking has been computed yet"))
      // Three channels with 1, 2 and 3 hearts.
      try await stack.pool.execute(
        """
        INSERT INTO celebs (platform, account, title)
        SELECT 'youtube', 'UC' || lpad(i::text, 22, '0'), 'Channel ' || i FROM generate_series(1, 3) i
        """)
      try await stack.pool.execute(
        "INSERT INTO hearts SELECT id, fan, now() - fan * interval '1 second' FROM celebs, generate_series(1, id) fan")
      try await cli("ranking", "audit", status: 1, isNotified: true)
      let first = try await cli("ranking", "run", "--full", "--json").json(Run.self)
      #expect(first.full && first.corrected == 3)
      try await cli("ranking", "audit")
      let before = try await cli("ranking", "show", "youtube", "--window", "all", "--json").json(Ranking.self)
      #expect(before.items.map(\.hearts) == [3, 2, 1] && before.items.allSatisfy { $0.change == nil })

      try await stack.pool.execute(
        "INSERT INTO hearts SELECT min(id), fan, now() FROM celebs, generate_series(1, 9) fan GROUP BY fan")
      try await stack.pool.execute(
        """
        SELECT count_celebs(array_agg(celeb_id), array_agg(to_microseconds(given_at)), array_agg(1), array_agg(0),
          array_agg(to_microseconds(given_at))) FROM hearts WHERE given_at = (SELECT max(given_at) FROM hearts)
        """)
      #expect(try await cli("ranking", "run").output.contains("1 celebs changed"))
      let after = try await cli("ranking", "show", "youtube", "--json").json(Ranking.self)
      #expect(after.items.map(\.hearts) == [10, 3, 2])
      #expect(after.items.map(\.change) == [2, -1, -1])
      #expect(try await cli("ranking", "show", "youtube").output.contains("+2"))
      #expect(try await cli("ranking", "show", "instagram").output.contains("is empty"))
      try await cli("ranking", "audit")

      try await stack.pool.execute("UPDATE celebs SET hearts_week = 7 WHERE title = 'Channel 2'")
      let broken = try await cli("ranking", "audit", "--json", status: 1, isNotified: true).json(Audit.self)
      #expect(!broken.exact && broken.items.contains { $0.what == "hearts week" })
      #expect(try await cli("ranking", "run", "--full", "--json").json(Run.self).corrected == 1)
      try await cli("ranking", "audit")
    }
  }

  @Test("Wrong arguments are named")
  func arguments() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      for arguments in [["vine"], ["youtube", "--by", "views"], ["youtube", "--window", "year"]] {
        let outcome = try await BuiltProgram("fanmill").run(
          ["ranking", "show"] + arguments, environment: cli.settings, in: NSTemporaryDirectory())
        #expect(outcome.status == 64 && !outcome.errors.isEmpty, "\(arguments)")
      }
      try await cli("ranking", "audit", "--examples", "-1", status: 64)
    }
  }
}
