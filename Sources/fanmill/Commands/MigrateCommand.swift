import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import Foundation
import LibPQClient
import Migrations

struct MigrateCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Migrate the database to the newest schema, or back.",
    discussion: """
      The queue's tables have their own schema, jobs, with its own versions; the app's come from numbered files.
      """,
    subcommands: [Up.self, Down.self, Status.self])

  struct MigrationsOption: ParsableArguments, Sendable {
    @Option(
      name: .customLong("migrations"), help: "The migrations folder, if it is not found automatically.",
      completion: .directory)
    var folder: String?

    func all() throws -> [Migration] { try Migration.all(in: folder ?? ProgramFiles.migrations()) }
  }

  struct Item: Encodable {
    /// `queue` or `app`.
    let part: String
    let number: Int
    let name: String
    let appliedAt: Date?
  }

  struct Up: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(commandName: "up", abstract: "Apply all pending migrations.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var migrations: MigrationsOption

    func run() async throws {
      try await common.withPostgres { pool in
        let output = common.output
        let applied = try await DatabaseMigrator(migrations.all(), pool: pool).up { output.say("applied \($0.title)") }
        if output.isJSON {
          try output.json(Report(items: applied.map(\.item)))
        } else if applied.isEmpty {
          output.say("nothing to apply")
        }
      }
    }
  }

  struct Down: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "down", abstract: "Undo the latest migrations, and lose the data in their tables.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var migrations: MigrationsOption
    @OptionGroup var confirmation: Confirmation
    @Option(help: "How many to undo.") var count = 1

    func validate() throws {
      guard count > 0 else { throw ValidationError("--count is \(count): use 1 or more") }
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let output = common.output
        try confirmation.ask(
          "undo the latest \(count == 1 ? "migration" : "\(count) migrations") and lose what is in their tables")
        let undone = try await DatabaseMigrator(migrations.all(), pool: pool).down(count) {
          output.say("undid \($0.file)")
        }
        if output.isJSON {
          try output.json(Report(items: undone.map { DatabaseMigrator.Step.app($0).item }))
        } else if undone.isEmpty {
          output.say("nothing to undo")
        }
      }
    }
  }

  struct Status: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "status", abstract: "List the migrations and when each was applied.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var migrations: MigrationsOption

    func run() async throws {
      try await common.withPostgres { pool in
        let status = try await DatabaseMigrator(migrations.all(), pool: pool).status()
        let items =
          status.queue.map {
            Item(part: "queue", number: $0.version.number, name: $0.version.name, appliedAt: $0.appliedAt)
          }
          + status.app.map { Item(part: "app", number: $0.number, name: $0.name, appliedAt: $0.appliedAt) }
        try common.output.list(items, empty: "there are no migrations") { items in
          Table(
            [.text("part"), .number("number"), .text("name"), .text("applied")],
            rows: items.map { [$0.part, String($0.number), $0.name, $0.appliedAt?.short ?? "not yet"] })
        }
      }
    }
  }

  private struct Report: Encodable {
    let items: [Item]
  }
}

extension DatabaseMigrator.Step {
  fileprivate var title: String {
    switch self {
    case .queue(let version): "version \(version.number) of the queue's schema (\(version.name))"
    case .app(let migration): migration.file
    }
  }

  fileprivate var item: MigrateCommand.Item {
    switch self {
    case .queue(let version):
      MigrateCommand.Item(part: "queue", number: version.number, name: version.name, appliedAt: nil)
    case .app(let migration):
      MigrateCommand.Item(part: "app", number: migration.number, name: migration.name, appliedAt: nil)
    }
  }
}
