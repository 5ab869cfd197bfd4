import CLibPQ
import Logging
import Reactor

extension PostgresConnection {
  /// Connects to the first server, and the first of its addresses, that takes the connection and is what the
  /// configuration asks for.
  ///
  /// - Throws: `.connection`, `.timeout` or `.cancelled`.
  public static func connect(
    _ configuration: PostgresConfiguration, loop: EventLoop, logger: Logger
  ) async throws(PostgresError) -> PostgresConnection {
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
        return try await connect(to: candidate, until: .now + share, loop: loop, logger: logger)
      } catch {
        if error.code == .cancelled || candidates.count == 1 { throw error }
        last = error
        failures.append("\(candidate.place): \(error.message)")
      }
    }
    throw PostgresError(last.code, failures.joined(separator: "; "), sqlState: last.sqlState)
  }

  private static func connect(
    to configuration: PostgresConfiguration, until deadline: ContinuousClock.Instant, loop: EventLoop, logger: Logger
  ) async throws(PostgresError) -> PostgresConnection {
    var addresses: [String?] = [nil]
    if let name = configuration.nameToResolve {
      do { addresses = try await HostResolver.addresses(of: name) } catch {
        throw PostgresError(.connection, error.description)
      }
    }
    var last = PostgresError(.connection, "\(configuration.place) has no address")
    for address in addresses {
      let connection = PostgresConnection(configuration: configuration, loop: loop, logger: logger)
      guard let error = await connection.connect(address: address, timeout: deadline - .now) else {
        try await connection.setUp()
        return connection
      }
      if error.code == .cancelled { throw error }
      last = error
    }
    throw last
  }

  /// Lets the server notice within a second that a client has gone, so that a statement given up here does not hold its
  /// locks until it ends.
  private func setUp() async throws(PostgresError) {
    guard serverVersion >= 140_000 else { return }
    do {
      try await executeScript("SET client_connection_check_interval = 1000", timeout: configuration.connectTimeout)
    } catch {
      // A server on a system that cannot look says so (22023); all else is a connection that does not work.
      if error.code != .server {
        close()
        throw error
      }
    }
  }

  /// Runs a statement and returns its rows.
  ///
  /// - Parameter timeout: instead of the configuration's `queryTimeout`.
  /// - Throws: `.server` with the SQLSTATE, `.connection`, `.timeout`, `.cancelled`.
  public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> PostgresRows {
    try await submit([query], timeout: timeout).only
  }

  /// Runs a statement and returns how many rows it touched.
  @discardableResult
  public func execute(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> Int {
    try await submit([query], timeout: timeout).only.affected
  }

  /// Runs statements in one round trip and one transaction: all of them take effect or none.
  ///
  /// - Returns: each statement's rows.
  @discardableResult
  public func pipeline(
    _ queries: [PostgresQuery], timeout: Duration? = nil
  ) async throws(PostgresError) -> [PostgresRows] {
    queries.isEmpty ? [] : try await submit(queries, timeout: timeout)
  }

  /// Receives what other sessions NOTIFY on `channels`, from now on. A connection that listens should do nothing else:
  /// what it is told comes between its statements' answers. The stream ends with the connection; 1,024 notifications
  /// are kept for a slow reader, the newest ones.
  public func listen(_ channels: String...) async throws(PostgresError) -> AsyncStream<PostgresNotification> {
    let id = nextID()
    let (stream, continuation) = AsyncStream.makeStream(
      of: PostgresNotification.self, bufferingPolicy: .bufferingNewest(1024))
    listeners[id] = Listener(channels: Set(channels), continuation: continuation)
    do {
      _ = try await submit(
        channels.map { PostgresQuery(unescaped: "LISTEN \(quoted($0))") }, timeout: nil)
    } catch {
      listeners[id] = nil
      throw error
    }
    let loop = self.loop
    continuation.onTermination = { [weak self] _ in
      loop.execute { [weak self] in self?.assumeIsolated { $0.listeners[id] = nil } }
    }
    return stream
  }

  func readNotifications() {
    while let notification = libpq?.nextNotification() {
      for listener in listeners.values where listener.channels.contains(notification.channel) {
        listener.continuation.yield(notification)
      }
    }
  }
}

extension [PostgresRows] {
  /// The rows of a request of one statement.
  var only: PostgresRows {
    get throws(PostgresError) {
      guard let rows = first, count == 1 else {
        throw PostgresError(.connection, "the server answered \(count) times to one statement")
      }
      return rows
    }
  }
}

/// `name` as an SQL identifier, exactly as it is written.
func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
