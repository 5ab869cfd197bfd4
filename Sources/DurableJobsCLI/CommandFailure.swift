import ArgumentParser
import DurableJobsAdmin
import LibPQClient

/// How a command ends that could not do what it was asked for.
public struct CommandFailure {
  public let line: String
  public let status: ExitCode

  public init(line: String, status: ExitCode) {
    self.line = line
    self.status = status
  }

  /// - Returns: nil for an error that says nothing about the queue.
  package init?(_ error: any Error) {
    switch error {
    case let error as OperationError:
      line = error.message
      status =
        switch error.code {
        case .usage: CommandStatus.usage
        case .data: CommandStatus.data
        case .noInput: CommandStatus.noInput
        case .noOutput: CommandStatus.noOutput
        default: CommandStatus.failure
        }
    case let error as PostgresError where error.sqlState == "42P01":
      // A table that is not there: the most likely first mistake of all.
      line = "the database is missing required tables: migrate its schema first (\(error.message))"
      status = CommandStatus.failure
    default: return nil
    }
  }
}

/// What a command exits with, after `sysexits.h`.
package enum CommandStatus {
  /// Something that was asked for did not happen.
  package static let failure = ExitCode(1)
  /// Arguments that mean nothing; ArgumentParser exits with it by itself.
  package static let usage = ExitCode(64)
  /// Data that are not what they should be, such as a payload or a line of a file (`EX_DATAERR`).
  package static let data = ExitCode(65)
  /// A file that cannot be read (`EX_NOINPUT`).
  package static let noInput = ExitCode(66)
  /// A file that cannot be written (`EX_CANTCREAT`).
  package static let noOutput = ExitCode(73)

  /// What a command exits with, and when, for --help and the man pages.
  package static let documented: [(status: Int32, meaning: String)] = [
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
