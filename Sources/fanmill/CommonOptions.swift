import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import LocalStack
import Logging
import Migrations
import Social
import SocialAdmin

/// What every command takes: settings, and how to print.
struct CommonOptions: ParsableArguments, Sendable {
  @OptionGroup(visibility: .hidden) var settings: SettingsOptions

  @Flag(help: "Print one JSON document.")
  var json = false

  @Flag(name: .shortAndLong, help: "Log to the standard error output what goes on behind the command.")
  var verbose = false

  var output: Output { Output(isJSON: json) }
}

extension CommonOptions {
  /// Runs a command's body: reads the settings, and turns what it throws into one line and an exit status.
  func run(_ body: (Program) async throws -> Void) async throws {
    adoptLocalStack()
    try await Program.run("fanmill", settings, logLevel: verbose ? .debug : .critical, isCommand: true) { program in
      do {
        try await body(program)
        try Output.flush()
      } catch let error as SettingsError where error.code == .missing && LocalStackFolder().runner == nil {
        Output.complain("\(error); or let `fanmill up` run both servers in this folder")
        throw ExitStatus.configuration
      } catch {
        guard let failure = CommandFailure(error) else { throw error }
        Output.complain(failure.line)
        throw failure.status
      }
    }
  }

  /// Runs it with Postgres alone.
  func withPostgres(_ body: @escaping @Sendable (PostgresPool) async throws -> Void) async throws {
    try await run { program in try await program.withPostgres(body) }
  }

  /// Runs it with both servers and the broker.
  func withAdmin(_ body: @escaping @Sendable (Desk) async throws -> Void) async throws {
    try await run { program in try await withAdmin(program, body) }
  }

  func withAdmin(_ program: Program, _ body: @escaping @Sendable (Desk) async throws -> Void) async throws {
    try await program.withServers { servers in
      let broker = try await RedisBroker(client: servers.redis, logger: program.logger)
      try await body(Desk(pool: servers.postgres, broker: broker, logger: program.logger))
    }
  }

  /// Where nobody says which servers are meant and a stack runs in this folder, it is meant.
  ///
  /// Either all of its settings hold or none: half of them would mix two stacks.
  private func adoptLocalStack() {
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

/// What a command needs that works with both servers.
struct Desk: Sendable {
  let pool: PostgresPool
  let broker: RedisBroker
  let jobs: JobAdmin
  let queues: QueueAdmin

  init(pool: PostgresPool, broker: RedisBroker, logger: Logger) {
    self.pool = pool
    self.broker = broker
    jobs = JobAdmin(pool: pool, broker: broker, kinds: .app, logger: logger)
    queues = QueueAdmin(pool: pool, broker: broker, known: jobs.kinds.queues)
  }

  var live: LiveMonitor { LiveMonitor(pool: pool, queues: queues) }
}

/// How a command ends that could not do what it was asked for.
struct CommandFailure {
  let line: String
  let status: ExitCode

  /// - Returns: nil for what `Program` tells by itself.
  init?(_ error: any Error) {
    switch error {
    case let error as OperationError:
      line = error.message
      status =
        switch error.code {
        case .usage: ExitStatus.usage
        case .data: ExitStatus.data
        case .noInput: ExitStatus.noInput
        case .noOutput: ExitStatus.noOutput
        default: ExitStatus.failure
        }
    case let error as GraphImportError:
      line = error.message
      status = error.code == .unreadable ? ExitStatus.noInput : ExitStatus.data
    case let error as SocialError: (line, status) = (error.message, ExitStatus.failure)
    case let error as MigrationError:
      line = error.message
      status = error.code == .unreadable ? ExitStatus.noInput : ExitStatus.failure
    case let error as PostgresError where error.sqlState == "42P01":
      // A table that is not there: the most likely first mistake of all.
      line = "the database has not the tables that this needs: run `fanmill migrate up` (\(error.message))"
      status = ExitStatus.failure
    default: return nil
    }
  }
}

extension ExitStatus {
  /// Data that are not what they should be, such as a payload or a line of a file (`EX_DATAERR`).
  static let data = ExitCode(65)
  /// A file that cannot be read (`EX_NOINPUT`).
  static let noInput = ExitCode(66)
  /// A file that cannot be written (`EX_CANTCREAT`).
  static let noOutput = ExitCode(73)

  /// What a command exits with, and when, for --help and the man pages.
  static let documented: [(status: Int32, meaning: String)] = [
    (0, "what was asked for happened"),
    (1, "it did not happen, or an audit or the doctor found something wrong"),
    (
      64,
      "the arguments mean nothing, or something would be destroyed, nobody is there to be asked, and --yes is not given"
    ),
    (65, "the data that were given are wrong, such as a payload or a line of a file"),
    (66, "a file cannot be read"),
    (69, "Redis or Postgres cannot be reached"),
    (73, "a file cannot be written"),
    (78, "a setting is missing or wrong"),
    (130, "Ctrl-C ended it"),
  ]
}
