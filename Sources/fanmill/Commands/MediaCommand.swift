import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import Social
import SocialAdmin

struct MediaCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "media", abstract: "List pictures, delete one, remove unused ones.",
    subcommands: [List.self, Show.self, Delete.self, Sweep.self])

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List pictures, the newest first.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: "Only pictures of this account, by its username.") var owner: String?
    @Option(help: "Only pictures in this state: waiting, ready or failed.") var state: Media.State?

    func run() async throws {
      try await common.withDatabase { database in
        let media: MediaPage
        do {
          media = try await MediaAdmin(database).list(
            owner: owner, state: state, before: page.before, limit: page.limit)
        } catch let error as SocialError where error.code == .notFound {
          throw SocialError(.notFound, "there is no account '\(owner ?? "")'")
        }
        try common.output.list(media.items, next: media.next, empty: "there are no pictures") { Table(media: $0) }
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show a picture's owner, size, bytes and uses.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The picture's id.") var id: String

    func run() async throws {
      try await common.withDatabase { database in
        try common.output.one(try await MediaAdmin(database).show(id)) { $0.text }
      }
    }
  }

  struct Delete: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "delete", abstract: "Remove a picture from its owner and from all posts and profiles.",
      discussion:
        "Its files are deleted unless another account has the same picture. The reason is kept in the action log."
    )
    @OptionGroup var common: CommonOptions
    @OptionGroup var confirmation: Confirmation
    @Argument(help: "The picture's id.") var id: String
    @Option(help: "The reason, for the action log.") var reason: String

    func validate() throws {
      guard 1...500 ~= reason.count else { throw ValidationError("--reason must have 1 to 500 characters") }
    }

    func run() async throws {
      try await common.run { program in
        try confirmation.ask("delete the picture \(id)")
        try await common.withAdmin(program) { admin in
          let jobs = JobClient(broker: admin.broker, ledger: PostgresLedger(admin.database), logger: program.logger)
          let media = try await MediaAdmin(admin.database).delete(id, because: reason, by: .terminal, through: jobs)
          try common.output.one(media) { "deleted picture \($0.id), which was shown in \($0.uses.grouped) places" }
        }
      }
    }
  }

  struct Sweep: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "sweep",
      abstract: "Enqueue the removal of pictures unused for a day, and of files without a picture.",
      discussion: "The scheduler enqueues the first hourly and the second daily; a worker does both.")
    @OptionGroup var common: CommonOptions

    private struct Asked: Encodable { let kinds: [String] }

    func run() async throws {
      try await common.run { program in
        try await common.withAdmin(program) { admin in
          let jobs = JobClient(broker: admin.broker, ledger: PostgresLedger(admin.database), logger: program.logger)
          try await MediaAdmin(admin.database).sweep(by: .terminal, through: jobs)
          try common.output.one(Asked(kinds: [MediaSweep.kind.rawValue, MediaOrphans.kind.rawValue])) {
            "enqueued \($0.kinds.joined(separator: " and "))"
          }
        }
      }
    }
  }
}

extension Media.State: ExpressibleByArgument {}

extension Table {
  fileprivate init(media: [MediaSummary]) {
    self.init(
      [
        .id(), .state(), .text("uploaded"), .elastic("owner"), .number("width"), .number("height"), .number("bytes"),
        .number("uses"),
      ],
      rows: media.map { media in
        [
          media.id, media.state, media.createdAt.away(), media.owner ?? "", media.width.grouped, media.height.grouped,
          media.bytes.grouped, media.uses.grouped,
        ]
      })
  }
}

extension MediaSummary {
  fileprivate var text: String {
    var lines = [
      ("id", id), ("owner", owner ?? "none yet"), ("state", state), ("uploaded at", createdAt.short),
      ("size", "\(width.grouped) × \(height.grouped)"), ("bytes", bytes.grouped),
      ("shown in", "\(uses.grouped) places"),
    ]
    if let storedBytes { lines.append(("stored", "\(storedBytes.grouped) bytes with all sizes")) }
    if let file { lines.append(("files", "\(file), of \(owners.grouped) pictures")) }
    if let reason { lines.append(("reason", reason)) }
    return facts(lines)
  }
}
