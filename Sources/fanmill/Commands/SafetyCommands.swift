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
    commandName: "reports", abstract: "Read what users report, and close reports.",
    subcommands: [List.self, Show.self, Resolve.self])

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List open reports, the newest first.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var page: PageOptions
    @Flag(help: "Those that are closed as well.") var all = false

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
      commandName: "show", abstract: "Show a report and what its subject said when it was reported.")
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
      commandName: "resolve", abstract: "Close a report, and all that are open about the same.",
      discussion: """
        'taken_down' hides the post or the comment from everybody, 'suspended' its author; both are told, with the \
        reason. 'dismissed' changes nothing.
        """)
    @OptionGroup var common: CommonOptions
    @Argument(help: "The report's number.") var id: Int
    @Option(name: .customLong("as"), help: "What is done: dismissed, taken_down or suspended.")
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
      commandName: "list", abstract: "List what is down, the latest first.")
    @OptionGroup var common: CommonOptions
    @Option(help: "How many at most.") var limit = 50

    func run() async throws {
      try await common.withDatabase { database in
        let takedowns = try await SafetyAdmin(database).takedowns(limit: limit)
        try common.output.list(takedowns, next: nil, empty: "nothing is down") { Table(takedowns: $0) }
      }
    }
  }

  private struct Done: Encodable { let subject: String }

  struct Add: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Hide something from everybody, and tell its author why.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "What to take down.") var subject: String
    @OptionGroup var why: ReasonOption

    func run() async throws {
      try await common.withJobs { database, jobs in
        try await SafetyAdmin(database).takeDown(subject, because: why.reason, by: .terminal, through: jobs)
        try common.output.one(Done(subject: subject)) { "\($0.subject) is down" }
      }
    }
  }

  struct Restore: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "restore", abstract: "Show something again, exactly as it was, and tell its author.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "What to restore.") var subject: String
    @OptionGroup var why: ReasonOption

    func run() async throws {
      try await common.withJobs { database, jobs in
        try await SafetyAdmin(database).restore(subject, because: why.reason, by: .terminal, through: jobs)
        try common.output.one(Done(subject: subject)) { "\($0.subject) is shown again" }
      }
    }
  }
}

/// The operator's reason for an action.
struct ReasonOption: ParsableArguments {
  @Option(help: "Why, for the log of actions and for who is concerned.") var reason: String

  func validate() throws {
    guard 1...500 ~= reason.count else { throw ValidationError("--reason has 1 to 500 characters") }
  }
}

extension CommonOptions {
  /// Runs `body` with a client that enqueues jobs in the transactions of its changes.
  func withJobs(
    _ body: @escaping @Sendable (JobsDatabase, JobClient<RedisBroker, PostgresLedger>) async throws -> Void
  ) async throws {
    try await run { program in
      try await withAdmin(program) { desk in
        try await body(
          desk.database, JobClient(broker: desk.broker, ledger: PostgresLedger(desk.database), logger: program.logger))
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
      ("reason", reason), ("made at", createdAt.short), ("reports", "\(count.grouped) about the same"),
      ("state", resolution ?? "open"),
    ]
    if let resolvedAt { lines.append(("closed at", resolvedAt.short)) }
    if !text.isEmpty { lines.append(("says", text)) }
    lines.append(("it said", excerpt))
    return facts(lines)
  }
}
