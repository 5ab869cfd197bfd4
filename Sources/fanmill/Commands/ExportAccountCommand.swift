import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import Social
import SocialAdmin

struct ExportAccountCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "account", abstract: "Export all that an account has, as JSON and pictures in a zip file.",
    discussion: """
      A worker makes the file and mails the owner a link that works for a week; POST /v1/me/export does the same for \
      the owner. With --to, the file is written here instead, and no mail is sent. Either way the action log records it.
      """)
  @OptionGroup var common: CommonOptions
  @Argument(help: "The account's username.") var name: String
  @Option(help: "Write the file here instead of mailing a link; it must not exist.", completion: .file())
  var to: String?

  private struct Report: Encodable {
    let username: String
    /// nil for an export by mail.
    let file: String?
    let bytes: Int?
  }

  func run() async throws {
    try await common.run { program in
      try await program.withMediaStore { store in
        try await common.withAdmin(program) { desk in
          let admin = AccountAdmin(desk.database)
          if let to {
            let bytes = try await admin.export(name, to: to, store: store, by: .terminal)
            return try common.output.one(Report(username: name, file: to, bytes: bytes)) { _ in
              "\(to) has \(bytes.grouped) bytes, all that \(name) has"
            }
          }
          let jobs = JobClient(broker: desk.broker, ledger: PostgresLedger(desk.database), logger: program.logger)
          try await admin.requestExport(of: name, by: .terminal, through: jobs)
          try common.output.one(Report(username: name, file: nil, bytes: nil)) { _ in
            "a worker exports \(name), and mails a link to the owner"
          }
        }
      }
    }
  }
}
