import Locking
import Logging

/// Serves reads that may be a second old: from a replica while it is known to be recent enough, else from the primary.
///
/// `run()` monitors the replica's lag and must be running for the replica to be used. Until the lag is known, and
/// whenever either server does not respond, reads go to the primary. To read your own writes, use the primary's pool.
public final class PostgresReads: Sendable {
  private let primary: PostgresPool
  private let replica: PostgresPool?
  private let limit: Duration
  private let logger: Logger
  private let freshness = Locked(ReplicaFreshness())

  /// The interval between two lag measurements.
  private static let interval = Duration.milliseconds(200)

  /// - Parameters:
  ///   - replica: nil sends every read to the primary.
  ///   - limit: the maximum age of a result.
  public init(primary: PostgresPool, replica: PostgresPool? = nil, limit: Duration = .seconds(1), logger: Logger) {
    self.primary = primary
    self.replica = replica
    self.limit = limit
    self.logger = logger
  }

  /// The maximum age of the replica's data; nil without a replica, or if its age is unknown.
  public var age: Duration? {
    freshness.withLock { $0.asOf }.map { .now - $0 }
  }

  /// Whether the next read goes to the replica.
  public var usesReplica: Bool {
    replica != nil && freshness.withLock { [limit] in $0.isFresh(at: .now, limit: limit) }
  }

  /// Runs a read-only statement. If the replica does not respond, the primary serves it.
  ///
  /// - Throws: as the primary's pool does.
  public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> PostgresRows {
    guard let replica, usesReplica else { return try await primary.query(query, timeout: timeout) }
    do {
      return try await replica.query(query, timeout: timeout)
    } catch {
      // An invalid statement is invalid on the primary too, and a retry must not extend the caller's own limits.
      if error.code == .cancelled || error.code == .timeout { throw error }
      if error.code == .connection { freshness.withLock { $0.forget() } }
      return try await primary.query(query, timeout: timeout)
    }
  }

  /// Runs related reads on one server. If the replica does not respond, all of them run on the primary.
  ///
  /// - Throws: as the primary's pool does, and any error that `body` throws.
  public func read<Result>(_ body: (PostgresPool) async throws -> Result) async throws -> Result {
    guard let replica, usesReplica else { return try await body(primary) }
    do {
      return try await body(replica)
    } catch let error as PostgresError where error.code != .cancelled && error.code != .timeout {
      if error.code == .connection { freshness.withLock { $0.forget() } }
      return try await body(primary)
    }
  }

  /// Monitors the replica's lag, until cancelled.
  public func run() async {
    guard let replica else { return }
    var wasFresh: Bool?
    while !Task.isCancelled {
      do {
        let time = ContinuousClock.now
        let position = try await primary.query(
          "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8", timeout: .seconds(2))[0].decode(Int.self)
        freshness.withLock { $0.primary(at: position, askedAt: time) }
        // A server that is not a replica (any more) may be the primary of a diverged history.
        let replayed = try await replica.query(
          """
          SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8 END
          """, timeout: .seconds(2))[0].decode(Int?.self)
        freshness.withLock { freshness in
          if let replayed { freshness.replica(at: replayed) } else { freshness.forget() }
        }
      } catch {
        if Task.isCancelled { return }
        logger.debug("cannot check how far behind the replica is", metadata: ["error": "\(error)"])
      }
      let isFresh = usesReplica
      if isFresh != wasFresh {
        if isFresh {
          logger.info("reads that may be a second old go to the replica")
        } else if wasFresh == true {
          logger.warning("the replica is unreachable or more than a second behind; its reads go to the primary")
        }
        wasFresh = isFresh
      }
      do { try await Task.sleep(for: Self.interval) } catch { return }
    }
  }
}
