import Foundation
import LibPQClient
import Logging
import Migrations
import Reactor
import Social

/// The doctor's look at Postgres.
struct PostgresExamination {
  let configuration: PostgresConfiguration
  let migrations: [Migration]
  let lookups: LookupRules
  let loop: EventLoop
  let logger: Logger

  func run() async -> [Finding] {
    let connection: PostgresConnection
    do {
      connection = try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
    } catch {
      // Without another session nothing more can be asked.
      if error.sqlState == "53300" {
        return [
          .fail("Postgres", error.message, "raise max_connections, run fewer workers, or lower FANMILL_POSTGRES_POOL")
        ]
      }
      return [
        .fail(
          "Postgres", error.message,
          "start it, or correct FANMILL_POSTGRES_URL; in a folder of `fanmill up`: `fanmill down`, then `fanmill up`")
      ]
    }
    var findings: [Finding] = []
    do {
      findings.append(await version(connection))
      findings.append(try await clock(connection))
      findings.append(try await durability(connection))
      let schema = try await schema(connection)
      findings.append(schema)
      if schema.status != .fail {
        findings += try await work(connection)
        findings += try await OperationsExamination(connection: connection).run()
        findings += try await ConnectionExamination(connection: connection).run()
        findings += try await connection.transaction { [lookups] in
          [try await AddressExamination().run($0)] + (try await YouTubeExamination(rules: lookups).run($0))
        }
      }
    } catch {
      findings.append(.fail("Postgres", "a question was not answered: \(error)", "look into the server's log"))
    }
    await connection.close()
    return findings
  }

  private func version(_ connection: PostgresConnection) async -> Finding {
    let number = await connection.serverVersion
    let detail = "PostgreSQL \(number / 10000).\(number % 10000), reachable"
    if number >= 14_00_00 { return .ok("Postgres", detail) }
    return .fail("Postgres", detail, "use PostgreSQL 14 or later: the schema's functions need it")
  }

  private func clock(_ connection: PostgresConnection) async throws -> Finding {
    let before = Date()
    let time = try await connection.query("SELECT clock_timestamp()")[0].decode(Date.self)
    return Doctor.clock("Postgres", time, before: before, after: Date())
  }

  private func durability(_ connection: PostgresConnection) async throws -> Finding {
    let row = try await connection.query(
      """
      SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'),
        current_setting('max_connections')
      """)[0]
    let (fsync, commit, pages, connections) = try row.decode(String.self, String.self, String.self, String.self)
    let off = [("fsync", fsync), ("synchronous_commit", commit), ("full_page_writes", pages)].filter { $0.1 == "off" }
    if off.isEmpty {
      return .ok("Postgres durability", "commits survive a power cut; \(connections) connections at most")
    }
    return .warn(
      "Postgres durability", "off: \(off.map(\.0).joined(separator: ", "))",
      "switch them on where the data matter: a committed job can be lost in a power cut")
  }

  private func schema(_ connection: PostgresConnection) async throws -> Finding {
    let exists = try await connection.query("SELECT to_regclass('schema_migrations') IS NOT NULL")[0].decode(Bool.self)
    let applied =
      exists
      ? try await connection.query("SELECT number, hash FROM schema_migrations ORDER BY number")
        .decode(Int.self, String.self) : []
    let hashes = Dictionary(uniqueKeysWithValues: applied.map { ($0.0, $0.1) })
    let known = Set(migrations.map(\.number))
    if let changed = migrations.first(where: { hashes[$0.number] != nil && hashes[$0.number] != $0.hash }) {
      return .fail(
        "migrations", "\(changed.file) is not the file that was applied",
        "restore it, and put the change into a migration of its own")
    }
    let pending = migrations.filter { hashes[$0.number] == nil }
    if !pending.isEmpty {
      return .fail(
        "migrations", "\(pending.count) of \(migrations.count) are to be applied, from \(pending[0].file) on",
        "run `fanmill migrate up`")
    }
    let foreign = hashes.keys.filter { !known.contains($0) }
    if !foreign.isEmpty {
      return .warn(
        "migrations", "the database has \(foreign.count) that this program does not know",
        "update this program: the database belongs to a newer one")
    }
    return .ok("migrations", "all \(migrations.count) are applied")
  }

  private func work(_ connection: PostgresConnection) async throws -> [Finding] {
    let row = try await connection.query(
      """
      SELECT (SELECT count(*) FROM dead_jobs), (SELECT count(*) FROM jobs WHERE parked),
        (SELECT max(to_date(right(relname, 8), 'YYYYMMDD')) - (now() AT TIME ZONE 'UTC')::date
           FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
           WHERE inhparent = 'following_user_posts'::regclass AND relname ~ '_[0-9]{8}$')
      """)[0]
    let (dead, parked, days) = try row.decode(Int.self, Int.self, Int?.self)
    var findings: [Finding] = []
    findings.append(
      dead == 0
        ? .ok("dead letters", "none")
        : .warn("dead letters", "\(dead)", "`fanmill dead list` shows why; `fanmill dead retry ID` tries one again"))
    findings.append(
      parked == 0
        ? .ok("parked jobs", "none")
        : .warn(
          "parked jobs", "\(parked) are of a kind or version that no worker knows",
          "start workers of the newer version; `fanmill jobs list --state parked` shows them"))
    let ahead = days ?? -1
    let detail = ahead < 0 ? "there is none for today" : "made \(ahead) days ahead"
    let advice = "run a worker, which makes them each hour, or `SELECT ensure_feed_partitions()`"
    findings.append(
      ahead >= 2
        ? .ok("feed partitions", detail)
        : ahead >= 0 ? .warn("feed partitions", detail, advice) : .fail("feed partitions", detail, advice))
    return findings
  }
}
