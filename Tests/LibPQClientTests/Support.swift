import LibPQClient
import Logging
import PrivateServers
import Reactor
import Testing

/// One loop for all tests of the process, as in a program.
let loop = EventLoop(name: "test-loop")

let logger: Logger = {
  var logger = Logger(label: "postgres-tests")
  logger.logLevel = .critical
  return logger
}()

func freshConfiguration() async throws -> PostgresConfiguration {
  try PostgresConfiguration(url: await SharedServers.freshDatabase())
}

/// Runs `body` with a connection to a separate database.
func withConnection(
  _ change: (inout PostgresConfiguration) -> Void = { _ in },
  _ body: (PostgresConnection) async throws -> Void
) async throws {
  var configuration = try await freshConfiguration()
  change(&configuration)
  let connection = try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
  do { try await body(connection) } catch {
    await connection.close()
    throw error
  }
  await connection.close()
}

/// Runs `body` with a running pool.
func withPool(
  _ configuration: PostgresConfiguration? = nil, size: Int = 4, waitLimit: Duration = .seconds(100),
  _ body: @Sendable (PostgresPool) async throws -> Void
) async throws {
  let configuration = if let configuration { configuration } else { try await freshConfiguration() }
  let pool = PostgresPool(configuration: configuration, size: size, waitLimit: waitLimit, loop: loop, logger: logger)
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { await pool.run() }
    try await body(pool)
    group.cancelAll()
  }
}

/// The error that `body` throws, as a PostgresError.
func failure(_ body: () async throws -> Void) async -> PostgresError? {
  do {
    try await body()
    Issue.record("nothing was thrown")
    return nil
  } catch let error as PostgresError {
    return error
  } catch {
    Issue.record("another error was thrown: \(error)")
    return nil
  }
}
