import Logging
import Reactor

/// Opens a session with the first server, and at the first of its addresses, that accepts it and has the configured
/// role.
struct PostgresConnector {
  let configuration: PostgresConfiguration
  let loop: EventLoop
  let logger: Logger

  /// - Throws: `.connection`, `.timeout` or `.cancelled`.
  func connect() async throws(PostgresError) -> PostgresConnection {
    let deadline = ContinuousClock.now + configuration.connectTimeout
    // All servers are tried as a standby before any other role is accepted.
    let rounds: [PostgresConfiguration.SessionAttributes] =
      configuration.sessionAttributes == .preferStandby ? [.standby, .any] : [configuration.sessionAttributes]
    let candidates = rounds.flatMap { round in configuration.servers.map { configuration.only($0, round) } }
    var failures: [String] = []
    var last = PostgresError(.connection, "\(configuration.place) has no address")
    for (index, candidate) in candidates.enumerated() {
      // An unresponsive address must leave time for the others.
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

  /// Makes the server notice within a second that a client is gone, so that an abandoned statement does not hold its
  /// locks until it ends.
  private func setUp(_ connection: PostgresConnection) async throws(PostgresError) {
    guard await connection.serverVersion >= 140_000 else { return }
    do {
      try await connection.executeScript(
        "SET client_connection_check_interval = 1000", timeout: configuration.connectTimeout)
    } catch {
      // A server on a platform without this check reports 22023; any other error means a broken connection.
      if error.code != .server {
        await connection.close()
        throw error
      }
    }
  }
}
