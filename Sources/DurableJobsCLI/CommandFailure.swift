import ArgumentParser
import DurableJobsAdmin
import LibPQClient

/// The message and exit status of a command that failed.
public struct CommandFailure {
  public let line: String
  public let status: ExitCode

  public init(line: String, status: ExitCode) {
    self.line = line
    self.status = status
  }

  /// - Returns: nil for an error that does not come from the queue.
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
      // A missing table is the most likely first mistake.
      line = "the database is missing required tables: migrate its schema first (\(error.message))"
      status = CommandStatus.failure
    default: return nil
    }
  }
}

/// The exit statuses of commands, after `sysexits.h`.
package enum CommandStatus {
  /// The request failed.
  package static let failure = ExitCode(1)
  /// Invalid arguments; ArgumentParser exits with this status itself.
  package static let usage = ExitCode(64)
  /// Invalid data, such as a payload or a line of a file (`EX_DATAERR`).
  package static let data = ExitCode(65)
  /// A file that cannot be read (`EX_NOINPUT`).
  package static let noInput = ExitCode(66)
  /// A file that cannot be written (`EX_CANTCREAT`).
  package static let noOutput = ExitCode(73)

  /// The exit statuses and their meanings, for --help and the man pages.
  package static let documented: [(status: Int32, meaning: String)] = [
    (0, "success"),
    (1, "the command failed, or an audit or the doctor found a problem"),
    (
      64,
      "the arguments are invalid, or a destructive command without --yes has no terminal to ask for confirmation"
    ),
    (65, "the input is invalid, such as a payload or a line of a file"),
    (66, "a file cannot be read"),
    (69, "Redis or Postgres cannot be reached"),
    (73, "a file cannot be written"),
    (78, "a setting is missing or invalid"),
    (130, "interrupted by Ctrl-C"),
  ]
}
