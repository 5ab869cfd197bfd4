import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsCLI
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import LocalStack
import Logging
import Migrations
import Social
import SocialAdmin

/// The options of every command.
typealias CommonOptions = CommandOptions<FanmillProgram>

/// Provides this program's settings, servers, jobs and schedules to the commands.
enum FanmillProgram: QueueProgram {
  /// The settings on the command line, which commands do not parse.
  @TaskLocal static var given = SettingsFlags()

  static var root: any ParsableCommand.Type { Fanmill.self }
  static let path = "fanmill"
  static let kinds = JobKinds.app

  static var manual: Manual {
    Manual(
      date: FanmillVersion.date,
      environment: Setting.all.map { setting in
        let summary = setting.summary.prefix(1).uppercased() + setting.summary.dropFirst() + "."
        return (setting.variable, summary + (setting.fallback.map { " The default is \($0)." } ?? ""))
      },
      environmentIntroduction: "Each setting is also a flag of every command, and a field of the settings file.")
  }

  static func run(
    _: NoOptions, isVerbose: Bool, _ body: (Program) async throws -> Void
  ) async throws {
    let given = given
    adoptLocalStack(given)
    try await Program.run("fanmill", given, logLevel: isVerbose ? .debug : .critical, isCommand: true) { program in
      do {
        try await body(program)
      } catch let error as SettingsError where error.code == .missing && LocalStackFolder().runner == nil {
        Output.complain("\(error); or run both servers in this folder with `fanmill up`")
        throw ExitStatus.configuration
      }
    }
  }

  static func doctor(_ session: Program, _ options: MigrateCommand.MigrationsOption) throws -> Doctor {
    try session.doctor(migrations: try options.all())
  }

  static func failure(_ error: any Error) -> CommandFailure? {
    switch error {
    case let error as GraphImportError:
      CommandFailure(
        line: error.message, status: error.code == .unreadable ? CommandStatus.noInput : CommandStatus.data)
    case let error as FirebaseImportError:
      switch error.code {
      case .unreadable: CommandFailure(line: error.message, status: CommandStatus.noInput)
      case .malformed: CommandFailure(line: error.message, status: CommandStatus.data)
      case .unwritable: CommandFailure(line: error.message, status: CommandStatus.noOutput)
      default: CommandFailure(line: error.message, status: CommandStatus.failure)
      }
    case let error as ArchiveError: CommandFailure(line: error.message, status: CommandStatus.noOutput)
    case let error as SocialError: CommandFailure(line: error.message, status: CommandStatus.failure)
    case let error as MigrationError:
      CommandFailure(
        line: error.message, status: error.code == .unreadable ? CommandStatus.noInput : CommandStatus.failure)
    case let error as JobsSchemaError: CommandFailure(line: error.message, status: CommandStatus.failure)
    case let error as PostgresError where error.sqlState == "42P01":
      // A missing table: by far the most likely first mistake.
      CommandFailure(
        line: "the database is missing required tables: run `fanmill migrate up` (\(error.message))",
        status: CommandStatus.failure)
    default: nil
    }
  }

  /// Uses the stack running in this folder if no servers are specified.
  ///
  /// Its settings apply together or not at all: half of them would mix two stacks.
  private static func adoptLocalStack(_ settings: SettingsFlags) {
    let environment = ProcessInfo.processInfo.environment
    let isSaid = [Setting.postgresURL, .redisURL].contains { setting in
      settings.flags[setting] != nil || !(environment[setting.variable] ?? "").isEmpty
    }
    if isSaid || settings.file != nil || environment["FANMILL_CONFIG"] != nil { return }
    let folder = LocalStackFolder()
    if folder.runner == nil { return }
    for (name, value) in folder.settings() { setenv(name, value, 0) }
  }
}

extension Program: QueueSession {
  /// The app's schedules, with these settings.
  public var schedules: [Schedule] {
    get throws {
      try SocialSchedules.all(
        feedDays: settings.feedDays, feedSleepDays: settings.feedSleepDays, rankings: rankingRefresh,
        webhookDays: settings.webhooksDays)
    }
  }

  public func withDatabase(_ body: @escaping @Sendable (JobsDatabase) async throws -> Void) async throws {
    try await withPostgres { try await body(JobsDatabase(pool: $0)) }
  }

  public func withQueue(
    endures: Bool, _ body: @escaping @Sendable (JobsDatabase, RedisBroker) async throws -> Void
  ) async throws {
    try await (endures ? throughOutages : self).withServers { servers in
      try await body(servers.database, try await RedisBroker(client: servers.redis, logger: logger))
    }
  }
}
