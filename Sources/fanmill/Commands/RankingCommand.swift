import ArgumentParser
import Bootstrap
import DurableJobsCLI
import Foundation
import LibPQClient
import Social
import SocialAdmin

struct RankingCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "ranking", abstract: "Show, compute and audit the rankings of celebs.",
    subcommands: [Show.self, Run.self, Audit.self])

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show a ranking of the latest snapshot.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "youtube or instagram.", completion: .list(["youtube", "instagram"])) var platform: String
    @Option(help: "What is counted: hearts or followers.", completion: .list(["hearts", "followers"])) var by = "hearts"
    @Option(
      help: "The period: day, week, month (so far) or all.", completion: .list(["day", "week", "month", "all"]))
    var window = "all"
    @Option(help: "How many to show, 1–100.") var limit = 20
    @Option(help: "Continue after this cursor, the 'next' of an earlier page.") var before: Int?

    func validate() throws {
      do {
        _ = try RankingKey(platform: platform, by: by, window: window)
        _ = try PageRequest(before: before, limit: limit)
      } catch {
        throw ValidationError(error.message)
      }
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let key = try RankingKey(platform: platform, by: by, window: window)
        let page = try await Rankings.page(of: key, PageRequest(before: before, limit: limit), in: pool)
        try common.output.one(RankingReport(page)) { $0.text }
      }
    }
  }

  struct Run: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "run", abstract: "Compute a new snapshot of all rankings now.",
      discussion: """
        The snapshot includes what has changed since the last one. With --full, and after a change of \
        FANMILL_RANKING_TIME_ZONE, everything is recounted from the hearts and registrations, which corrects wrong \
        counts; hearts given meanwhile are counted afterwards.
        """)
    @OptionGroup var common: CommonOptions
    @Flag(help: "Recount everything.") var full = false

    func run() async throws {
      try await common.run { program in
        var refresh = program.rankingRefresh
        refresh.recount = full
        try await program.withPostgres { [refresh] pool in
          let outcome = try await pool.transaction { try await refresh.run(in: $0) }
          try common.output.one(RunReport(outcome)) { $0.text }
        }
      }
    }
  }

  struct Audit: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "audit", abstract: "Recount everything and compare; exit 1 if something differs.",
      discussion: """
        Compares each celeb's counts with the hearts and registrations, except those waiting to be counted, and each \
        ranking, continued from the last snapshot, with the same ranking computed from all celebs. Changes nothing: \
        `fanmill ranking run --full` repairs differences.
        """)
    @OptionGroup var common: CommonOptions
    @OptionGroup var shown: ExampleOptions

    func run() async throws {
      try await common.withDatabase { database in
        let audit = try await RankingAudit.run(examples: shown.examples, on: database)
        try common.output.one(RankingAuditReport(audit)) { $0.text }
        if !audit.isExact { throw ExitStatus.failure }
      }
    }
  }
}

extension Program {
  /// The job that creates a snapshot of the rankings, with these settings.
  var rankingRefresh: RankingRefresh {
    RankingRefresh(
      depth: settings.rankingDepth, timeZone: settings.rankingTimeZone, historyDays: settings.rankingHistory,
      pointDays: settings.rankingPoints)
  }
}

/// A page of a ranking, for output.
private struct RankingReport: Encodable {
  struct Row: Encodable {
    let rank: Int
    let previousRank: Int?
    let change: Int?
    let account: String
    let title: String?
    let hearts: Int
    let followers: Int
  }

  let computedAt: Date?
  let items: [Row]
  let next: Int?

  init(_ page: RankingPage) {
    computedAt = page.computedAt
    next = page.next
    items = page.items.map {
      Row(
        rank: $0.rank, previousRank: $0.previousRank, change: $0.change, account: $0.account, title: $0.title,
        hearts: $0.hearts, followers: $0.followers)
    }
  }

  var text: String {
    guard let computedAt else { return "no ranking has been computed yet: run `fanmill ranking run`" }
    if items.isEmpty { return "this ranking is empty, computed \(computedAt.short)" }
    let table = Table(
      [
        .number("rank"), .number("before"), .number("change"), .text("account"), .elastic("title"), .number("hearts"),
        .number("followers"),
      ],
      rows: items.map { item in
        [
          String(item.rank), item.previousRank.map { String($0) } ?? "new",
          item.change.map { $0 == 0 ? "=" : $0 > 0 ? "+\($0)" : "\($0)" } ?? "", item.account, item.title ?? "",
          item.hearts.grouped, item.followers.grouped,
        ]
      })
    let more = next.map { "\nmore: --before \($0)" } ?? ""
    return "\(table.text(on: .output))\ncomputed \(computedAt.short)\(more)"
  }
}

/// The result of creating a snapshot, for output.
private struct RunReport: Encodable {
  let snapshot: Int
  let computedAt: Date
  let full: Bool
  let changedCelebs: Int
  let changedLists: Int
  let corrected: Int

  init(_ outcome: RankingRefresh.Outcome) {
    snapshot = outcome.snapshot
    computedAt = outcome.computedAt
    full = outcome.isRecount
    changedCelebs = outcome.changes
    changedLists = outcome.lists
    corrected = outcome.corrected
  }

  var text: String {
    let how =
      full
      ? "everything was recounted, and the counts of \(corrected.grouped) celebs were corrected"
      : "\(changedCelebs.grouped) celebs changed"
    return "snapshot \(snapshot), computed \(computedAt.short): \(how); \(changedLists) lists changed"
  }
}

/// The result of an audit of rankings, for output.
private struct RankingAuditReport: Encodable {
  struct Row: Encodable {
    let problem: String
    let platform: String
    let what: String
    let place: String
    let expected: String
    let found: String
  }

  let exact: Bool
  let celebs: Int
  let entries: Int
  let wrongCounts: Int
  let wrongEntries: Int
  let waiting: Int
  let changed: Int
  /// The first differences.
  let items: [Row]

  init(_ audit: RankingAudit) {
    exact = audit.isExact
    celebs = audit.celebs
    entries = audit.entries
    wrongCounts = audit.wrongCounts
    wrongEntries = audit.wrongEntries
    waiting = audit.waiting
    changed = audit.changed
    items = audit.differences.map {
      Row(
        problem: $0.problem, platform: $0.platform, what: $0.what, place: $0.place, expected: $0.expected,
        found: $0.found)
    }
  }

  var text: String {
    let under = """
      \(waiting.grouped) hearts and registrations are waiting to be counted, \(changed.grouped) celebs for the next \
      snapshot
      """
    if exact {
      return """
        exact: the counts of \(celebs.grouped) celebs, and \(entries.grouped) entries of rankings
        \(under)
        """
    }
    let table = Table(
      [
        .text("problem"), .text("platform"), .text("what"), .text("place"), .elastic("expected"), .elastic("found"),
      ], rows: items.map { [$0.problem, $0.platform, $0.what, $0.place, $0.expected, $0.found] })
    return """
      NOT exact: \(wrongCounts.grouped) counts and \(wrongEntries.grouped) entries of rankings are wrong
      \(table.text(on: .output))
      \(under)
      """
  }
}
