import Logging
import Reactor

/// Opens a session: with the first server, and the first of its addresses, that takes it and is what the configuration
/// asks for.
struct PostgresConnector {
  let configuration: PostgresConfiguration
  let loop: EventLoop
  let logger: Logger

  /// - Throws: `.connection`, `.timeout` or `.cancelled`.
  func connect() async throws(PostgresError) -> PostgresConnection {
    let deadline = ContinuousClock.now + configuration.connectTimeout
    // A standby is looked for among all before any other is good enough.
    let rounds: [PostgresConfiguration.SessionAttributes] =
      configuration.sessionAttributes == .preferStandby ? [.standby, .any] : [configuration.sessionAttributes]
    let candidates = rounds.flatMap { round in configuration.servers.map { configuration.only($0, round) } }
    var failures: [String] = []
    var last = PostgresError(.connection, "\(configuration.place) has no address")
    for (index, candidate) in candidates.enumerated() {
      // One that swallows what is sent to it must leave time for the others.
      let share = (deadline - .now) / (candidates.count - index)
      do {
        return try await connect(to: candidate, until: .now + share)
      } catch {
        if error.code == .cancelled || candidates.count == 1 { throw error }
        last = error
        failures.append("\(candidate.place): \(error.message)")
      }
    }
    throw PostgresError(last.code, failures.joined(separator: "; "), sqlState: last.sqlState)
  }

  private func connect(
    to server: PostgresConfiguration, until deadline: ContinuousClock.Instant
  ) async throws(PostgresError) -> PostgresConnection {
    var addresses: [String?] = [nil]
    if let name = server.nameToResolve {
      do { addresses = try await HostResolver.addresses(of: name) } catch {
        throw PostgresError(.connection, error.description)
      }
    }
    var last = PostgresError(.connection, "\(server.place) has no address")
    for address in addresses {
      let connection = PostgresConnection(configuration: server, loop: loop, logger: logger)
      guard let error = await connection.connect(address: address, timeout: deadline - .now) else {
        try await setUp(connection)
        return connection
      }
      if error.code == .cancelled { throw error }
      last = error
    }
    throw last
  }

  /// Lets the server notice within a second that a client has gone, so that a statement given up here does not hold its
  /// locks until it ends.
  private func setUp(_ connection: PostgresConnection) async throws(PostgresError) {
    guard await connection.serverVersion >= 140_000 else { return }
    do {
      try await connection.executeScript(
        "SET client_connection_check_interval = 1000", timeout: configuration.connectTimeout)
    } catch {
      // A server on a system that cannot look says so (22023); all else is a connection that does not work.
      if error.code != .server {
        await connection.close()
        throw error
      }
    }
  }
}
