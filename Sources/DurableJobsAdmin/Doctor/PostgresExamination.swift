import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging
import Reactor

/// The doctor's checks of Postgres.
struct PostgresExamination {
  let configuration: PostgresConfiguration
  let tables: JobsSchema
  let schema: (any Examination)?
  let more: [any Examination]
  let terms: DoctorTerms
  let loop: EventLoop
  let logger: Logger

  func run() async -> [Finding] {
    let connection: PostgresConnection
    do {
      connection = try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
    } catch {
      // Without a free session, no further check can run.
      if error.sqlState == "53300" {
        return [
          .fail("Postgres", error.message, "raise max_connections, run fewer workers, or lower \(terms.poolSize)")
        ]
      }
      return [
        .fail(
          "Postgres", error.message,
          "start it, or correct \(terms.postgresURL)" + (terms.restart.map { "; \($0)" } ?? ""))
      ]
    }
    var findings: [Finding] = []
    do {
      findings.append(await version(connection))
      findings.append(try await clock(connection))
      findings.append(try await durability(connection))
      let found = try await connection.transaction { [schema, tables, terms] in
        let app = try await schema?.run(in: $0) ?? []
        return try await SchemaExamination(schema: tables, terms: terms).run(in: $0) + app
      }
      findings += found
      if !found.contains(where: { $0.status == .fail }) {
        let own: [any Examination] = [
          WorkExamination(schema: tables, terms: terms), OperationsExamination(schema: tables, terms: terms),
          ConnectionExamination(schema: tables, terms: terms),
        ]
        for examination in own + more {
          findings += try await connection.transaction { try await examination.run(in: $0) }
        }
      }
    } catch {
      findings.append(.fail("Postgres", "a query failed: \(error)", "check the server's log"))
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
      "switch them on if the data matters: a power cut can lose a committed job")
  }
}
