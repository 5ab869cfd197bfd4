import Locking
import Logging

/// Where reads go that may be a second old: to a replica while it is known to be no further behind, else to the
/// primary.
///
/// `run()` watches how far the replica is and must run for as long as it is to be used; until it has found out, and
/// whenever either server does not answer, reads go to the primary. What one writes and reads at once belongs to the
/// primary's pool.
public final class PostgresReads: Sendable {
  private let primary: PostgresPool
  private let replica: PostgresPool?
  private let limit: Duration
  private let logger: Logger
  private let freshness = Locked(ReplicaFreshness())

  /// Between two looks at how far the servers are.
  private static let interval = Duration.milliseconds(200)

  /// - Parameters:
  ///   - replica: nil sends every read to the primary.
  ///   - limit: how old an answer may be.
  public init(primary: PostgresPool, replica: PostgresPool? = nil, limit: Duration = .seconds(1), logger: Logger) {
    self.primary = primary
    self.replica = replica
    self.limit = limit
    self.logger = logger
  }

  /// How old what the replica shows may be at most; nil where there is none or nothing is known of it.
  public var age: Duration? {
    freshness.withLock { $0.asOf }.map { .now - $0 }
  }

  /// Whether the next read goes to the replica.
  public var usesReplica: Bool {
    replica != nil && freshness.withLock { [limit] in $0.isFresh(at: .now, limit: limit) }
  }

  /// Runs a statement that writes nothing. Where the replica does not answer it, the primary does.
  ///
  /// - Throws: as the primary's pool does.
  public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> PostgresRows {
    guard let replica, usesReplica else { return try await primary.query(query, timeout: timeout) }
    do {
      return try await replica.query(query, timeout: timeout)
    } catch {
      // A statement that is wrong is wrong on the primary too, and the caller's own limits are not stretched.
      if error.code == .cancelled || error.code == .timeout { throw error }
      if error.code == .connection { freshness.withLock { $0.forget() } }
      return try await primary.query(query, timeout: timeout)
    }
  }

  /// Runs several reads that belong together on one server. Where the replica does not answer, all of them are asked of
  /// the primary.
  ///
  /// - Throws: as the primary's pool does, and what `body` throws itself.
  public func read<Result>(_ body: (PostgresPool) async throws -> Result) async throws -> Result {
    guard let replica, usesReplica else { return try await body(primary) }
    do {
      return try await body(replica)
    } catch let error as PostgresError where error.code != .cancelled && error.code != .timeout {
      if error.code == .connection { freshness.withLock { $0.forget() } }
      return try await body(primary)
    }
  }

  /// Watches how far the replica is behind, until cancelled.
  public func run() async {
    guard let replica else { return }
    var wasFresh: Bool?
    while !Task.isCancelled {
      do {
        let time = ContinuousClock.now
        let position = try await primary.query(
          "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8", timeout: .seconds(2))[0].decode(Int.self)
        freshness.withLock { $0.primary(at: position, askedAt: time) }
        // A server that is no replica (any more) may be the primary of another history.
        let replayed = try await replica.query(
          """
          SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8 END
          """, timeout: .seconds(2))[0].decode(Int?.self)
        freshness.withLock { freshness in
          if let replayed { freshness.replica(at: replayed) } else { freshness.forget() }
        }
      } catch {
        if Task.isCancelled { return }
        logger.debug("how far the replica is cannot be asked", metadata: ["error": "\(error)"])
      }
      let isFresh = usesReplica
      if isFresh != wasFresh {
        if isFresh {
          logger.info("reads that may be a second old go to the replica")
        } else if wasFresh == true {
          logger.warning("the replica is away or more than a second behind; its reads go to the primary")
        }
        wasFresh = isFresh
      }
      do { try await Task.sleep(for: Self.interval) } catch { return }
    }
  }
}
