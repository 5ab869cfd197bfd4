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
    commandName: "media", abstract: "Look at pictures, delete one, remove what nobody shows.",
    subcommands: [List.self, Show.self, Delete.self, Sweep.self])

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List pictures, the newest first.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: "Those of this account alone, by its username.") var owner: String?
    @Option(help: "Those in this state alone: waiting, ready or failed.") var state: Media.State?

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
      commandName: "show", abstract: "Show whose a picture is, its size, its bytes and where it is shown.")
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
      commandName: "delete", abstract: "Take a picture out of all posts and profiles, and from its owner.",
      discussion: "Its files go where nobody else has the same picture. The reason is kept with the operators' actions."
    )
    @OptionGroup var common: CommonOptions
    @OptionGroup var confirmation: Confirmation
    @Argument(help: "The picture's id.") var id: String
    @Option(help: "Why, for the log of actions.") var reason: String

    func validate() throws {
      guard 1...500 ~= reason.count else { throw ValidationError("--reason has 1 to 500 characters") }
    }

    func run() async throws {
      try await common.run { program in
        try confirmation.ask("delete the picture \(id)")
        try await common.withAdmin(program) { desk in
          let jobs = JobClient(broker: desk.broker, ledger: PostgresLedger(desk.database), logger: program.logger)
          let media = try await MediaAdmin(desk.database).delete(id, because: reason, by: .terminal, through: jobs)
          try common.output.one(media) { "deleted picture \($0.id), which was shown in \($0.uses.grouped) places" }
        }
      }
    }
  }

  struct Sweep: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "sweep",
      abstract: "Ask for the removal of pictures that were shown nowhere for a day, and of files that belong to none.",
      discussion: "The scheduler asks for the first by the hour and for the second by the day; a worker does both.")
    @OptionGroup var common: CommonOptions

    private struct Asked: Encodable { let kinds: [String] }

    func run() async throws {
      try await common.run { program in
        try await common.withAdmin(program) { desk in
          let jobs = JobClient(broker: desk.broker, ledger: PostgresLedger(desk.database), logger: program.logger)
          try await MediaAdmin(desk.database).sweep(by: .terminal, through: jobs)
          try common.output.one(Asked(kinds: [MediaSweep.kind.rawValue, MediaOrphans.kind.rawValue])) {
            "asked for \($0.kinds.joined(separator: " and "))"
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
      ("id", id), ("owner", owner ?? "nobody yet"), ("state", state), ("uploaded at", createdAt.short),
      ("size", "\(width.grouped) × \(height.grouped)"), ("bytes", bytes.grouped),
      ("shown in", "\(uses.grouped) places"),
    ]
    if let storedBytes { lines.append(("stored", "\(storedBytes.grouped) bytes with all sizes")) }
    if let file { lines.append(("files", "\(file), of \(owners.grouped) pictures")) }
    if let reason { lines.append(("reason", reason)) }
    return facts(lines)
  }
}
