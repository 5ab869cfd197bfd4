import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI
import Foundation
import LibPQClient
import Migrations

struct MigrateCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Bring the database to the newest schema, or back.",
    subcommands: [Up.self, Down.self, Status.self])

  struct MigrationsOption: ParsableArguments, Sendable {
    @Option(
      name: .customLong("migrations"), help: "The folder of the migrations, if it is not found by itself.",
      completion: .directory)
    var folder: String?

    func all() throws -> [Migration] { try Migration.all(in: folder ?? ProgramFiles.migrations()) }
  }

  struct Item: Encodable {
    let number: Int
    let name: String
    let appliedAt: Date?
  }

  struct Up: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(commandName: "up", abstract: "Apply what is not applied yet.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var migrations: MigrationsOption

    func run() async throws {
      try await common.withPostgres { pool in
        let output = common.output
        let applied = try await Migrator(migrations.all(), pool: pool).up { output.say("applied \($0.file)") }
        if output.isJSON { try output.json(Report(applied)) } else if applied.isEmpty { output.say("nothing to apply") }
      }
    }
  }

  struct Down: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "down", abstract: "Undo the latest migrations, and lose what they hold.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var migrations: MigrationsOption
    @OptionGroup var confirmation: Confirmation
    @Option(help: "How many to undo.") var count = 1

    func validate() throws {
      guard count > 0 else { throw ValidationError("--count is \(count): a number from 1 on belongs there") }
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let output = common.output
        try confirmation.ask(
          "undo the latest \(count == 1 ? "migration" : "\(count) migrations") and lose what is in their tables")
        let undone = try await Migrator(migrations.all(), pool: pool).down(count) { output.say("undid \($0.file)") }
        if output.isJSON { try output.json(Report(undone)) } else if undone.isEmpty { output.say("nothing to undo") }
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
        let items = try await Migrator(migrations.all(), pool: pool).status().map {
          Item(number: $0.number, name: $0.name, appliedAt: $0.appliedAt)
        }
        try common.output.list(items, empty: "there are no migrations") { items in
          Table(
            [.number("number"), .text("name"), .text("applied")],
            rows: items.map { [String($0.number), $0.name, $0.appliedAt?.short ?? "not yet"] })
        }
      }
    }
  }

  private struct Report: Encodable {
    let items: [Item]

    init(_ migrations: [Migration]) {
      items = migrations.map { Item(number: $0.number, name: $0.name, appliedAt: nil) }
    }
  }
}
