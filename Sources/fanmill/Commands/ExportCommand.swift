import ArgumentParser
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsCLI
import SocialAdmin

struct ExportCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write accounts, follows and jobs to files, or all that one account has.",
    subcommands: [ExportFilesCommand.self, ExportAccountCommand.self], defaultSubcommand: ExportFilesCommand.self)
}

struct ExportFilesCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "files", abstract: "Write accounts, follows and jobs to files.",
    discussion: """
      Accounts and follows are TSV, as `fanmill import` reads them; jobs and dead letters are JSON, one per line. A \
      file whose name ends in .gz is compressed with gzip; - is the standard output. Each file is a snapshot of the \
      database, and gets its name once it is complete.
      """)
  @OptionGroup var common: CommonOptions
  @Option(help: "The file for accounts.", completion: .file()) var users: String?
  @Option(help: "The file for follows.", completion: .file()) var follows: String?
  @Option(help: "The file for the pending jobs.", completion: .file()) var jobs: String?
  @Option(help: "The file for dead letters.", completion: .file()) var dead: String?

  func validate() throws {
    let files = [users, follows, jobs, dead].compactMap(\.self)
    if files.isEmpty {
      throw ValidationError("give --users FILE, --follows FILE, --jobs FILE, --dead FILE, or several")
    }
    guard Set(files).count == files.count else { throw ValidationError("give each a different file") }
    if common.json, files.contains("-") {
      throw ValidationError("--json cannot be combined with a file on the standard output")
    }
  }

  /// The number of lines in each file; nil if not requested.
  struct Report: Encodable {
    var accounts: Int?
    var follows: Int?
    var jobs: Int?
    var dead: Int?
  }

  func run() async throws {
    try await common.withDatabase { database in
      let line = ProgressLine()
      defer { line.clear() }
      var report = Report()
      if users != nil || follows != nil {
        let graph = try await GraphExport(users: users, follows: follows).run(on: database.pool) {
          line.show($0, of: nil, "accounts and follows")
        }
        if users != nil { report.accounts = graph.accounts }
        if follows != nil { report.follows = graph.follows }
      }
      if let jobs {
        report.jobs = try await JobExport(.pending, to: jobs).run(on: database) { line.show($0, of: nil, "jobs") }
      }
      if let dead {
        report.dead = try await JobExport(.dead, to: dead).run(on: database) { line.show($0, of: nil, "dead letters") }
      }
      line.clear()
      // Standard output belongs to an exported file.
      if [users, follows, jobs, dead].contains("-") { return }
      try common.output.one(report) { $0.text }
    }
  }
}

extension ExportFilesCommand.Report {
  fileprivate var text: String {
    let counts = [
      accounts.map { "\($0.grouped) accounts" }, follows.map { "\($0.grouped) follows" },
      jobs.map { "\($0.grouped) jobs" }, dead.map { "\($0.grouped) dead letters" },
    ]
    return counts.compactMap(\.self).joined(separator: ", ") + " written"
  }
}
