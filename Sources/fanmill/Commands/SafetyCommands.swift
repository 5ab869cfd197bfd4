import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import DurableJobsRedis
import Social
import SocialAdmin

struct ReportsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "reports", abstract: "List, show and close users' reports.",
    subcommands: [List.self, Show.self, Resolve.self])

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List open reports, the newest first.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var page: PageOptions
    @Flag(help: "Include closed reports.") var all = false

    func run() async throws {
      try await common.withDatabase { database in
        let reports = try await SafetyAdmin(database).reports(
          isOpen: all ? nil : true, before: page.before, limit: page.limit)
        try common.output.list(reports.items, next: reports.next, empty: "there are no reports") {
          Table(reports: $0)
        }
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show a report and its subject's text at the time of the report.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The report's number.") var id: Int

    func run() async throws {
      try await common.withDatabase { database in
        try common.output.one(try await SafetyAdmin(database).report(id)) { $0.details }
      }
    }
  }

  struct Resolve: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "resolve", abstract: "Close a report, and all open reports about the same subject.",
      discussion: """
        'taken_down' hides the post or the comment, 'suspended' suspends its author; either way the author is notified \
        with the reason. 'dismissed' changes nothing.
        """)
    @OptionGroup var common: CommonOptions
    @Argument(help: "The report's number.") var id: Int
    @Option(name: .customLong("as"), help: "The resolution: dismissed, taken_down or suspended.")
    var resolution: Reports.Resolution
    @OptionGroup var why: ReasonOption

    func run() async throws {
      try await common.withJobs { database, jobs in
        let report = try await SafetyAdmin(database).resolve(
          id, as: resolution, because: why.reason, by: .terminal, through: jobs)
        try common.output.one(report) { "report \($0.id) about \($0.subject): \($0.resolution ?? "open")" }
      }
    }
  }
}

struct TakedownsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "takedowns", abstract: "Take posts, comments and pictures down, and restore them.",
    discussion: "A subject is post/12, comment/12/34 (34, of post 12) or picture/ID.",
    subcommands: [List.self, Add.self, Restore.self])

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List what is taken down, the latest first.")
    @OptionGroup var common: CommonOptions
    @Option(help: "The maximum number of entries.") var limit = 50

    func run() async throws {
      try await common.withDatabase { database in
        let takedowns = try await SafetyAdmin(database).takedowns(limit: limit)
        try common.output.list(takedowns, next: nil, empty: "nothing is taken down") { Table(takedowns: $0) }
      }
    }
  }

  private struct Done: Encodable { let subject: String }

  struct Add: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Take down a subject and notify its author.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "What to take down.") var subject: String
    @OptionGroup var why: ReasonOption

    func run() async throws {
      try await common.withJobs { database, jobs in
        try await SafetyAdmin(database).takeDown(subject, because: why.reason, by: .terminal, through: jobs)
        try common.output.one(Done(subject: subject)) { "\($0.subject) is taken down" }
      }
    }
  }

  struct Restore: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "restore", abstract: "Restore a subject exactly as it was, and notify its author.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "What to restore.") var subject: String
    @OptionGroup var why: ReasonOption

    func run() async throws {
      try await common.withJobs { database, jobs in
        try await SafetyAdmin(database).restore(subject, because: why.reason, by: .terminal, through: jobs)
        try common.output.one(Done(subject: subject)) { "\($0.subject) is visible again" }
      }
    }
  }
}

/// The operator's reason for an action.
struct ReasonOption: ParsableArguments {
  @Option(help: "The reason, for the action log and the affected owner.") var reason: String

  func validate() throws {
    guard 1...500 ~= reason.count else { throw ValidationError("--reason must have 1 to 500 characters") }
  }
}

extension CommonOptions {
  /// Runs `body` with a client that enqueues jobs in the transactions of its changes.
  func withJobs(
    _ body: @escaping @Sendable (JobsDatabase, JobClient<RedisBroker, PostgresLedger>) async throws -> Void
  ) async throws {
    try await run { program in
      try await withAdmin(program) { admin in
        try await body(
          admin.database,
          JobClient(broker: admin.broker, ledger: PostgresLedger(admin.database), logger: program.logger))
      }
    }
  }
}

extension Reports.Resolution: ExpressibleByArgument {}

extension Table {
  fileprivate init(reports: [ReportRecord]) {
    self.init(
      [
        .number("id"), .elastic("subject"), .text("reason"), .elastic("author"), .elastic("reporter"), .state(),
        .number("reports"), .text("made"),
      ],
      rows: reports.map { report in
        [
          String(report.id), report.subject, report.reason, report.author ?? "", report.reporter ?? "",
          report.resolution ?? "open", report.count.grouped, report.createdAt.away(),
        ]
      })
  }

  fileprivate init(takedowns: [TakedownRecord]) {
    self.init(
      [.elastic("subject"), .elastic("author"), .text("since"), .elastic("reason")],
      rows: takedowns.map { [$0.subject, $0.author ?? "", $0.takenDownAt.away(), $0.reason] })
  }
}

extension ReportRecord {
  fileprivate var details: String {
    var lines = [
      ("id", String(id)), ("subject", subject), ("author", author ?? "gone"), ("reporter", reporter ?? "gone"),
      ("reason", reason), ("made at", createdAt.short), ("reports", "\(count.grouped) about the same subject"),
      ("state", resolution ?? "open"),
    ]
    if let resolvedAt { lines.append(("closed at", resolvedAt.short)) }
    if !text.isEmpty { lines.append(("says", text)) }
    lines.append(("reported text", excerpt))
    return facts(lines)
  }
}
