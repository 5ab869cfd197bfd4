import ArgumentParser
import DurableJobs
import HiredisClient
import LibPQClient

/// The report of a program's failure: one line and an exit status.
struct ProgramFailure {
  let line: String
  let status: ExitCode

  /// - Returns: nil for errors that ArgumentParser displays itself: exit codes, help, invalid arguments.
  init?(_ error: any Error) {
    switch error {
    case is ExitCode, is CleanExit, is ValidationError: return nil
    case let error as SettingsError: (line, status) = (error.description, ExitStatus.configuration)
    case let error as ServerUnreachable: (line, status) = (error.description, ExitStatus.unavailable)
    case let error as ListenFailure: (line, status) = (error.description, ExitStatus.configuration)
    case let error as RedisError: (line, status) = (error.description, Self.status(of: error))
    case let error as PostgresError: (line, status) = (error.description, Self.status(of: error))
    case let error as BrokerError: (line, status) = (error.description, Self.status(of: error))
    default: (line, status) = ("\(error)", ExitStatus.failure)
    }
  }

  private static func status(of error: RedisError) -> ExitCode {
    switch error.code {
    case .connection, .timeout: ExitStatus.unavailable
    case .configuration: ExitStatus.configuration
    default: ExitStatus.failure
    }
  }

  private static func status(of error: PostgresError) -> ExitCode {
    switch error.code {
    case .connection, .timeout, .poolExhausted: ExitStatus.unavailable
    case .configuration: ExitStatus.configuration
    default: ExitStatus.failure
    }
  }

  private static func status(of error: BrokerError) -> ExitCode {
    switch error.code {
    case .unavailable: ExitStatus.unavailable
    case .unsafeConfiguration: ExitStatus.configuration
    default: ExitStatus.failure
    }
  }
}
