import LibPQClient
import Logging
import Reactor

/// The doctor's checks of the replica for reads.
struct ReplicaExamination {
  let primary: PostgresConfiguration
  let replica: PostgresConfiguration
  let terms: DoctorTerms
  let loop: EventLoop
  let logger: Logger

  /// How long the replica gets to catch up with the primary.
  private static let patience = Duration.seconds(2)

  func run() async -> [Finding] {
    let connection: PostgresConnection
    do {
      connection = try await PostgresConnection.connect(replica, loop: loop, logger: logger)
    } catch {
      return [
        .warn(
          "Postgres replica", error.message,
          "start it, or correct \(terms.replicaURL); until then its reads go to the primary")
      ]
    }
    let finding: Finding
    do {
      finding = try await examine(connection)
    } catch {
      finding = .warn("Postgres replica", "a query failed: \(error)", "check the replica's log")
    }
    await connection.close()
    return [finding]
  }

  private func examine(_ connection: PostgresConnection) async throws -> Finding {
    let place = replica.place
    guard try await connection.query("SELECT pg_is_in_recovery()")[0].decode(Bool.self) else {
      return .warn(
        "Postgres replica", "\(place) is not a replica: it accepts writes",
        "if it was promoted, point \(terms.postgresURL) at it and create a new replica; no reads go there for now")
    }
    let source = try await PostgresConnection.connect(primary, loop: loop, logger: logger)
    let finding: Finding
    do {
      finding = try await lag(of: connection, behind: source)
    } catch {
      await source.close()
      throw error
    }
    await source.close()
    return finding
  }

  private func lag(of replica: PostgresConnection, behind source: PostgresConnection) async throws -> Finding {
    let start = ContinuousClock.now
    let position = try await source.query("SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8")[0].decode(Int.self)
    var behind = 0
    repeat {
      let replayed = try await replica.query(
        "SELECT coalesce((pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8, 0)")[0].decode(Int.self)
      behind = position - replayed
      if behind <= 0 {
        let lag = "it catches up with the primary within \(Int((.now - start) / .milliseconds(1))) ms"
        if .now - start <= .seconds(1) { return .ok("Postgres replica", lag) }
        return .warn("Postgres replica", lag, Self.advice)
      }
      try await Task.sleep(for: .milliseconds(5))
    } while ContinuousClock.now - start < Self.patience
    return .warn("Postgres replica", "it is \(behind) bytes of log behind, for over 2 s", Self.advice)
  }

  private static let advice =
    "while it is over a second behind, its reads go to the primary; see pg_stat_replication there and the replica's log"
}
