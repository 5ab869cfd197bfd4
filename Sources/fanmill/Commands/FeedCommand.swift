import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI
import Foundation
import LibPQClient
import Social
import SocialAdmin

struct FeedCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "feed", abstract: "Show, audit and rebuild feeds.",
    subcommands: [Show.self, Rebuild.self, Audit.self])

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show an account's feed, the newest first.",
      discussion: "Posts older than the feeds' rows are assembled from follows and posts, as a reader sees them."
    )
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String
    @Flag(help: "Include the account's own posts.") var own = false
    @Option(help: "The maximum number of posts, 1 to 100.") var limit = 20
    @Option(help: "Continue after this cursor, the 'next' of an earlier page.") var before: Int?

    struct Item: Encodable {
      let postId: Int
      let author: String
      let title: String
      let createdAt: Date
    }

    func validate() throws {
      guard PageRequest.limits ~= limit else {
        throw ValidationError("--limit is \(limit): use a number from 1 to 100")
      }
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let page = try await Feed.following(
          try await FeedCommand.account(name, on: pool), own: own, PageRequest(before: before, limit: limit), in: pool)
        let items = page.items.map {
          Item(postId: $0.id, author: $0.author.username, title: $0.title, createdAt: $0.createdAt)
        }
        try common.output.list(items, next: page.next.map { String($0) }, empty: "the feed of \(name) is empty") {
          Table(
            [.id("post"), .text("author"), .text("posted"), .elastic("title")],
            rows: $0.map { [String($0.postId), $0.author, $0.createdAt.away(), $0.title] })
        }
      }
    }
  }

  struct Rebuild: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "rebuild", abstract: "Rebuild one feed, or all feeds, from follows and posts.",
      discussion: """
        Adds missing rows and removes stale ones. Safe to run beside other work: no row is added twice, and it can be \
        interrupted and run again.
        """)
    @OptionGroup var common: CommonOptions
    @Argument(help: "The account's username.") var name: String?
    @Flag(help: "All feeds.") var all = false

    func validate() throws {
      guard (name != nil) != all else { throw ValidationError("give an account's NAME, or --all") }
    }

    struct Report: Encodable {
      let authors: Int
      let added: Int
      let removed: Int
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let line = ProgressLine()
        defer { line.clear() }
        var account: Int?
        if let name { account = try await FeedCommand.account(name, on: pool) }
        let report = try await FeedRebuild(account: account).run(on: pool) { progress in
          guard let total = progress.total else { return line.show(0, "finding the differences") }
          line.show(progress.done, of: total, "authors")
        }
        line.clear()
        try common.output.one(Report(authors: report.authors, added: report.added, removed: report.removed)) {
          $0.added + $0.removed == 0
            ? "nothing to do" : "\($0.added.grouped) rows added, \($0.removed.grouped) removed"
        }
      }
    }
  }

  fileprivate static func account(_ name: String, on pool: PostgresPool) async throws -> Int {
    do {
      return try await Accounts.id(of: name, in: pool)
    } catch let error as SocialError where error.code == .notFound {
      throw SocialError(.notFound, "there is no account '\(name)'")
    }
  }

  struct Audit: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "audit",
      abstract: "Compare every feed with follows and posts; exit 1 if one differs.",
      discussion:
        "While posts are being delivered (pending), missing rows may be expected: audit again once they are done.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var shown: ExampleOptions

    func run() async throws {
      try await common.withPostgres { pool in
        let audit = try await FeedAudit.run(examples: shown.examples, on: pool)
        try common.output.one(FeedAuditReport(audit)) { $0.text }
        if !audit.isExact { throw ExitStatus.failure }
      }
    }
  }
}

/// The result of an audit, for output.
struct FeedAuditReport: Encodable {
  struct Row: Encodable {
    /// `missing` or `stale`.
    let problem: String
    let username: String
    let userId: Int
    let postId: Int
  }

  let exact: Bool
  let expected: Int
  let found: Int
  let missing: Int
  let stale: Int
  let pending: Int
  /// The first differences.
  let items: [Row]

  init(_ audit: FeedAudit) {
    func rows(_ rows: [FeedAudit.Row], _ problem: String) -> [Row] {
      rows.map { Row(problem: problem, username: $0.username, userId: $0.user, postId: $0.post) }
    }
    exact = audit.isExact
    expected = audit.expected
    found = audit.found
    missing = audit.missing
    stale = audit.stale
    pending = audit.pending
    items = rows(audit.missingRows, "missing") + rows(audit.staleRows, "stale")
  }

  var text: String {
    let under = pending == 0 ? "" : "; \(pending.grouped) posts are still being delivered"
    if exact { return "exact: \(found.grouped) rows, none missing and none stale\(under)" }
    let table = Table(
      [.text("problem"), .elastic("user"), .number("post")],
      rows: items.map { [$0.problem, $0.username, String($0.postId)] })
    return """
      NOT exact: \(missing.grouped) rows are missing and \(stale.grouped) are stale, of \(expected.grouped) \
      expected\(under)
      \(table.text(on: .output))
      """
  }
}
