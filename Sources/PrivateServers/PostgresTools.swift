import Foundation
import Glibc

/// Postgres' own command-line programs, aimed at one private server.
struct PostgresTools: Sendable {
  let folder: String
  let socketFolder: String
  let port: Int

  /// Runs `sql` and returns what psql printed.
  func psql(_ sql: String, _ database: String) async throws(PrivateServerError) -> String {
    let output = "\(folder)/psql-\(UUID().uuidString).out"
    let plan = ServerProcess.Plan(
      program: try ServerPrograms.find("psql"),
      arguments: [
        "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", socketFolder, "-p", String(port), "-U", "postgres", "-d",
        database,
        "-c", sql,
      ],
      log: output, folder: "/")
    let status = try await ServerProcess.run(plan)
    let text = FileManager.default.contents(atPath: output).map { String(decoding: $0, as: UTF8.self) } ?? ""
    unlink(output)
    guard status == 0 else { throw PrivateServerError(.failed, "psql failed: \(text)") }
    return text.trimmingCharacters(in: .newlines)
  }
}
