import ArgumentParser
import Bootstrap
import Postgres
import Social

struct FeedCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "feed", abstract: "Check the feeds.", subcommands: [Audit.self])

  struct Audit: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      abstract: "Compare every feed with what follows and posts say it holds; exit 1 if one differs.",
      discussion:
        "Where posts are still on their way (pending), rows may be missing rightly: audit again when they are done.")
    @OptionGroup var common: CommonOptions
    @Option(help: "How many rows that differ to show, of either kind.") var examples = 20

    func validate() throws {
      guard examples >= 0 else { throw ValidationError("--examples is \(examples): a number from 0 on belongs there") }
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let audit = try await FeedAudit.run(examples: examples, on: pool)
        try common.output.one(AuditReport(audit)) { $0.text }
        if !audit.isExact { throw ExitStatus.failure }
      }
    }
  }
}

/// What an audit found, to be printed.
struct AuditReport: Encodable {
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
  /// The first rows that differ.
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
    let under = pending == 0 ? "" : "; \(pending.grouped) posts are still on their way"
    if exact { return "exact: \(found.grouped) rows, each where it belongs and none missing\(under)" }
    let table = Table(
      [.text("problem"), .elastic("user"), .number("post")],
      rows: items.map { [$0.problem, $0.username, String($0.postId)] })
    return """
      NOT exact: \(missing.grouped) rows are missing and \(stale.grouped) are stale, of \(expected.grouped) that belong\(under)
      \(table.text(width: Terminal.width))
      """
  }
}
