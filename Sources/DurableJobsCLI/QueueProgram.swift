import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Logging

/// A program that mounts the queue's commands: add `QueueCommands<MyProgram>.all` to the subcommands of its root
/// command.
public protocol QueueProgram: Sendable {
  /// The program's own flags, such as its servers' addresses. `--help` does not list them.
  associatedtype Settings: ParsableArguments & Sendable
  /// Extra options of `doctor`.
  associatedtype DoctorOptions: ParsableArguments & Sendable = NoOptions
  /// The parsed settings.
  associatedtype Session: QueueSession

  /// The root command, for completion scripts and man pages.
  static var root: any ParsableCommand.Type { get }
  /// The path that the queue's commands are mounted under, as in "`PATH dead list`".
  static var path: String { get }
  /// The kinds of jobs that the program knows.
  static var kinds: JobKinds { get }
  /// The program's part of its man pages.
  static var manual: Manual { get }

  /// Reads the settings and runs a command's body.
  ///
  /// - Parameter isVerbose: whether to log behind the command's output.
  /// - Throws: errors from the body; `ExitCode` for an error that is already reported.
  static func run(
    _ settings: Settings, isVerbose: Bool, _ body: (Session) async throws -> Void
  ) async throws

  /// The doctor that checks the program's dependencies.
  static func doctor(_ session: Session, _ options: DoctorOptions) throws -> Doctor

  /// The command's failure for an error of the program's own; nil for an unknown error.
  static func failure(_ error: any Error) -> CommandFailure?
}

extension QueueProgram {
  public static func failure(_ error: any Error) -> CommandFailure? { nil }
}

/// The parts of a program's man pages besides its commands.
public struct Manual: Sendable {
  /// The program's build date, as in "November 21, 2026".
  public var date: String
  /// The environment variables that it reads, with a sentence on each.
  public var environment: [(name: String, text: String)]
  /// The text above the list of these variables.
  public var environmentIntroduction: String

  public init(
    date: String, environment: [(name: String, text: String)] = [], environmentIntroduction: String = ""
  ) {
    self.date = date
    self.environment = environment
    self.environmentIntroduction = environmentIntroduction
  }
}

/// A program's parsed settings, and access to its servers.
public protocol QueueSession: Sendable {
  var logger: Logger { get }

  /// The program's schedules.
  var schedules: [Schedule] { get throws }

  /// Connects to Postgres alone, which has the queue's tables.
  func withDatabase(_ body: @escaping @Sendable (JobsDatabase) async throws -> Void) async throws

  /// Connects to both servers.
  ///
  /// - Parameter endures: whether the body continues while a server does not answer, as a live screen does.
  func withQueue(
    endures: Bool, _ body: @escaping @Sendable (JobsDatabase, RedisBroker) async throws -> Void
  ) async throws
}

/// No options.
public struct NoOptions: ParsableArguments, Sendable {
  public init() {}
}
