import ArgumentParser
import DurableJobsCLI
import Social

struct ImportCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Import accounts and follows from files, or an app's data from Firebase.",
    subcommands: [ImportGraphCommand.self, ImportFirebaseCommand.self], defaultSubcommand: ImportGraphCommand.self)
}

struct ImportGraphCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "graph", abstract: "Import accounts and follows from files into the database, all of them or none.",
    discussion: """
      Files are TSV, plain or compressed with gzip; a line that begins with # is a comment. A line of accounts is \
      username[TAB]major, one of follows follower[TAB]followee. Existing accounts and follows stay unchanged.
      """)

  @OptionGroup var common: CommonOptions
  @Option(help: "The file of accounts.", completion: .file()) var users: String?
  @Option(help: "The file of follows.", completion: .file()) var follows: String?

  func validate() throws {
    if users == nil, follows == nil { throw ValidationError("give --users FILE, --follows FILE, or both") }
  }

  struct Report: Encodable {
    let accountsAdded: Int
    let accountsKnown: Int
    let followsAdded: Int
    let followsKnown: Int
    let feedRows: Int

    init(_ report: GraphImport.Report) {
      accountsAdded = report.accountsAdded
      accountsKnown = report.accountsKnown
      followsAdded = report.followsAdded
      followsKnown = report.followsKnown
      feedRows = report.feedRows
    }
  }

  func run() async throws {
    try await common.withPostgres { pool in
      let line = ProgressLine()
      defer { line.clear() }
      let report = try await GraphImport(users: users, follows: follows).run(on: pool) { line.show($0) }
      line.clear()
      try common.output.one(Report(report)) { report in
        "\(report.accountsAdded.grouped) accounts and \(report.followsAdded.grouped) follows added; "
          + "\(report.accountsKnown.grouped) and \(report.followsKnown.grouped) already existed; "
          + "\(report.feedRows.grouped) rows added to feeds"
      }
    }
  }
}

extension ProgressLine {
  /// Each phase fills a quarter; within a phase, the number of lines is unknown.
  func show(_ progress: GraphImport.Progress) {
    let (share, what): (Double, String) =
      switch progress.phase {
      case .readingUsers: (0.05, "reading accounts: \(progress.lines.grouped) lines")
      case .readingFollows: (0.25, "reading follows: \(progress.lines.grouped) lines")
      case .addingUsers: (0.5, "adding accounts")
      case .addingFollows: (0.75, "adding follows")
      case .done: (1, "done")
      }
    show(share, what)
  }
}
