import CLibPQ
import Foundation

/// Runs SQL on a private server in a separate session, for set-up before a client exists.
struct PostgresTools: Sendable {
  let socketFolder: String
  let port: Int

  /// Runs `sql`; multiple statements form one transaction.
  ///
  /// - Returns: the rows of all results, one per line, columns separated by `|`.
  func run(_ sql: String, _ database: String) async throws(PrivateServerError) -> String {
    let result = await withCheckedContinuation { continuation in
      // libpq blocks.
      DispatchQueue.global().async { continuation.resume(returning: ask(sql, database)) }
    }
    return try result.get()
  }

  private func ask(_ sql: String, _ database: String) -> Result<String, PrivateServerError> {
    let settings = [
      "host": socketFolder, "port": String(port), "user": "postgres", "dbname": database, "connect_timeout": "60",
    ].map { "\($0)='\($1.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'" }
    guard let session = PQconnectdb(settings.joined(separator: " ")) else {
      return .failure(PrivateServerError(.failed, "no session: out of memory"))
    }
    defer { PQfinish(session) }
    func failure() -> Result<String, PrivateServerError> {
      .failure(PrivateServerError(.failed, "Postgres failed: \(String(cString: PQerrorMessage(session)))"))
    }
    guard PQstatus(session) == CONNECTION_OK, PQsendQuery(session, sql) == 1 else { return failure() }
    var lines: [String] = []
    var hasFailed = false
    while let result = PQgetResult(session) {
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_TUPLES_OK:
        lines += (0..<PQntuples(result)).map { row in
          (0..<PQnfields(result)).map { String(cString: PQgetvalue(result, row, $0)) }.joined(separator: "|")
        }
      case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: continue
      default: hasFailed = true
      }
    }
    return hasFailed ? failure() : .success(lines.joined(separator: "\n"))
  }
}
