import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Logging

/// A program that mounts the queue's commands: `QueueCommands<MyProgram>.all` goes among the subcommands of its root.
public protocol QueueProgram: Sendable {
  /// Its own flags, such as where its servers are. `--help` does not list them.
  associatedtype Settings: ParsableArguments & Sendable
  /// What only `doctor` takes besides.
  associatedtype DoctorOptions: ParsableArguments & Sendable = NoOptions
  /// Its settings, read.
  associatedtype Session: QueueSession

  /// The command that holds all others: for completion scripts and man pages.
  static var root: any ParsableCommand.Type { get }
  /// Where the queue's commands are mounted, as in "`PATH dead list`".
  static var path: String { get }
  /// The kinds of jobs that it knows.
  static var kinds: JobKinds { get }
  /// For its man pages.
  static var manual: Manual { get }

  /// Reads the settings and runs a command's body.
  ///
  /// - Parameter isVerbose: whether to log what goes on behind the command.
  /// - Throws: what the body throws; `ExitCode` for what was said already.
  static func run(
    _ settings: Settings, isVerbose: Bool, _ body: (Session) async throws -> Void
  ) async throws

  /// The doctor who looks at what the program rests on.
  static func doctor(_ session: Session, _ options: DoctorOptions) throws -> Doctor

  /// How a command ends with an error of the program's own; nil for an error that it does not know.
  static func failure(_ error: any Error) -> CommandFailure?
}

extension QueueProgram {
  public static func failure(_ error: any Error) -> CommandFailure? { nil }
}

/// What a program's man pages say besides its commands.
public struct Manual: Sendable {
  /// When the program was made, as in "November 21, 2026".
  public var date: String
  /// Variables that it reads from the environment, each with a sentence.
  public var environment: [(name: String, text: String)]
  /// What holds for all of these variables, above their list.
  public var environmentIntroduction: String

  public init(
    date: String, environment: [(name: String, text: String)] = [], environmentIntroduction: String = ""
  ) {
    self.date = date
    self.environment = environment
    self.environmentIntroduction = environmentIntroduction
  }
}

/// A program's settings once they are read, and the way to its servers.
public protocol QueueSession: Sendable {
  var logger: Logger { get }

  /// What the program does again and again.
  var schedules: [Schedule] { get throws }

  /// Connects to Postgres alone, where the queue's tables are.
  func withDatabase(_ body: @escaping @Sendable (JobsDatabase) async throws -> Void) async throws

  /// Connects to both servers.
  ///
  /// - Parameter endures: whether the body goes on while a server does not answer, as a live screen does.
  func withQueue(
    endures: Bool, _ body: @escaping @Sendable (JobsDatabase, RedisBroker) async throws -> Void
  ) async throws
}

/// No options.
public struct NoOptions: ParsableArguments, Sendable {
  public init() {}
}
