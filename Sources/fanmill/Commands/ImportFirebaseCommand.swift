import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import Social

struct ImportFirebaseCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "firebase", abstract: "Import users and what they made from the exports of a Firebase project.",
    discussion: """
      Files are JSON, as docs/moving-from-firebase.md describes them; --mapping names a file for other collections and \
      fields. Users keep their passwords with --hash-config FILE, the password hash parameters from the Firebase \
      console. An import that was stopped goes on when the command is run again; running it twice adds nothing. Wrong \
      records are kept in a file, and --retry FILE tries them again. Exit status 65 if any was rejected.
      """)

  @OptionGroup var common: CommonOptions
  @Option(help: "The export of Firebase Auth: `firebase auth:export FILE --format=json`.", completion: .file())
  var auth: String?
  @Option(help: "The project's password hash parameters, as the Firebase console shows them.", completion: .file())
  var hashConfig: String?
  @Flag(help: "Leave passwords out: users choose new ones by mail.") var withoutPasswords = false
  @Option(help: "The export of Firestore.", completion: .file()) var firestore: String?
  @Option(help: "The export of the Realtime Database.", completion: .file()) var database: String?
  @Option(help: "The folder with the files of the storage bucket.", completion: .directory) var storage: String?
  @Option(help: "A file with other names of collections and fields.", completion: .file()) var mapping: String?
  @Option(help: "The file for rejected records.", completion: .file()) var rejects = "firebase-rejects.jsonl"
  @Option(help: "Try the records of this file again instead of reading exports.", completion: .file())
  var retry: String?
  @Flag(help: "Read and check everything without writing to the database.") var dryRun = false

  func validate() throws {
    let exports = [auth, firestore, database].compactMap(\.self)
    if retry != nil, !exports.isEmpty {
      throw ValidationError("--retry reads rejected records instead of --auth, --firestore and --database")
    }
    if retry == nil, exports.isEmpty, storage == nil {
      throw ValidationError("give --auth FILE, --firestore FILE, --database FILE, or several; or --retry FILE")
    }
    if auth != nil, hashConfig == nil, !withoutPasswords {
      throw ValidationError("give --hash-config FILE with --auth, or leave passwords out with --without-passwords")
    }
    if hashConfig != nil, withoutPasswords {
      throw ValidationError("--hash-config and --without-passwords exclude each other")
    }
  }

  struct Report: Encodable {
    let items: [FirebaseImport.Report.Count]
    let isDryRun: Bool
    let renamed: Int
    let externalPictures: Int
    let waitingPictures: Int
    /// The file of rejected and changed records; nil if there are none.
    let rejects: String?

    init(_ report: FirebaseImport.Report, isDryRun: Bool) {
      items = report.counts
      self.isDryRun = isDryRun
      renamed = report.renamed
      externalPictures = report.externalPictures
      waitingPictures = report.waitingPictures
      rejects = report.rejects
    }
  }

  private var files: FirebaseImport {
    var files = FirebaseImport(rejects: rejects)
    files.auth = auth
    files.hashConfig = hashConfig
    files.requiresPasswords = !withoutPasswords
    files.firestore = firestore
    files.database = database
    files.storage = storage
    files.mapping = mapping
    files.retry = retry
    return files
  }

  func run() async throws {
    let files = self.files
    try await common.run { program in
      if dryRun { return try await check(files) }
      try await program.withMediaStore { store in
        try await common.withAdmin(program) { desk in
          let jobs = JobClient(broker: desk.broker, ledger: PostgresLedger(desk.database), logger: program.logger)
          let line = ProgressLine()
          defer { line.clear() }
          let report = try await files.run(on: desk.database.pool, store: store) { body in
            try await jobs.transaction { try await body($0) }
          } progress: { progress in
            line.show(progress.share, progress.what)
          }
          line.clear()
          try show(report)
        }
      }
    }
  }

  private func check(_ files: FirebaseImport) async throws {
    let line = ProgressLine()
    defer { line.clear() }
    let report = try await files.check { line.show($0.share, $0.what) }
    line.clear()
    try show(report)
  }

  private func show(_ report: FirebaseImport.Report) throws {
    try common.output.one(Report(report, isDryRun: dryRun)) { $0.text }
    if report.rejected > 0 { throw CommandStatus.data }
  }
}

extension ImportFirebaseCommand.Report {
  fileprivate var text: String {
    let table = Table(
      [.text("records"), .number(isDryRun ? "valid" : "added"), .number("known"), .number("rejected")],
      rows: items.map { item in
        [item.kind.rawValue, item.added.grouped, item.known.grouped, item.rejected.grouped]
      })
    var lines = [table.text(on: .output)]
    if renamed > 0 { lines.append("\(renamed.grouped) users have another username: theirs was taken or not allowed") }
    if externalPictures > 0 {
      lines.append("\(externalPictures.grouped) pictures are elsewhere on the web and were left out")
    }
    if waitingPictures > 0 {
      lines.append("\(waitingPictures.grouped) pictures wait: run the command with --storage DIR")
    }
    if let rejects {
      lines.append("\(rejects) has what was rejected or changed, and why; after a correction, pass it to --retry")
    }
    if isDryRun { lines.append("a dry run: nothing was written to the database") }
    return lines.joined(separator: "\n")
  }
}
