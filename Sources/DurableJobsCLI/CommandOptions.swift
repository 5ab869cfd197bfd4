import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient

/// The options of every command: settings and output format.
package struct CommandOptions<P: QueueProgram>: ParsableArguments, Sendable {
  @OptionGroup(visibility: .hidden) package var settings: P.Settings

  @Flag(help: "Print one JSON document.")
  package var json = false

  @Flag(name: .shortAndLong, help: "Log details to standard error.")
  package var verbose = false

  package init() {}

  package var output: Output { Output(isJSON: json) }
}

extension CommandOptions {
  /// Runs a command's body: reads the settings, and turns an error into one line and an exit status.
  package func run(_ body: (P.Session) async throws -> Void) async throws {
    try await P.run(settings, isVerbose: verbose) { session in
      do {
        try await body(session)
        try Output.flush()
      } catch {
        guard let failure = P.failure(error) ?? CommandFailure(error) else { throw error }
        Output.complain(failure.line)
        throw failure.status
      }
    }
  }

  /// Runs an operation and prints its result.
  ///
  /// - Parameters:
  ///   - open: connects to the servers, such as `withDatabase`.
  ///   - text: formats the result for people.
  func change<Target, Result: Encodable & SendableMetatype>(
    _ open: (@escaping @Sendable (Target) async throws -> Void) async throws -> Void,
    _ act: @escaping @Sendable (Target) async throws -> Result, text: @escaping @Sendable (Result) -> String
  ) async throws {
    try await open { target in try output.one(try await act(target), text) }
  }

  /// Runs the body with Postgres alone.
  package func withDatabase(_ body: @escaping @Sendable (JobsDatabase) async throws -> Void) async throws {
    try await run { session in try await session.withDatabase(body) }
  }

  /// Runs the body with Postgres alone, for the app's tables.
  package func withPostgres(_ body: @escaping @Sendable (PostgresPool) async throws -> Void) async throws {
    try await withDatabase { try await body($0.pool) }
  }

  /// Runs the body with both servers and the broker.
  package func withAdmin(_ body: @escaping @Sendable (AdminSession) async throws -> Void) async throws {
    try await run { session in try await withAdmin(session, body) }
  }

  /// - Parameter endures: whether the body continues while a server does not answer.
  package func withAdmin(
    _ session: P.Session, endures: Bool = false, _ body: @escaping @Sendable (AdminSession) async throws -> Void
  ) async throws {
    try await session.withQueue(endures: endures) { database, broker in
      let client = JobClient(broker: broker, ledger: PostgresLedger(database), logger: session.logger)
      try await body(
        AdminSession(
          database: database, broker: broker, jobs: JobAdmin(client, kinds: P.kinds),
          queues: QueueAdmin(database, broker: broker, known: P.kinds.queues)))
    }
  }
}

/// Everything that a command with both servers needs.
package struct AdminSession: Sendable {
  package let database: JobsDatabase
  package let broker: RedisBroker
  package let jobs: JobAdmin
  package let queues: QueueAdmin

  var live: LiveMonitor { LiveMonitor(queues) }
}
