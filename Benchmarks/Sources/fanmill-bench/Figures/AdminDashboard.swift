import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import LibPQClient
import PrivateServers

/// The dashboard of a dedicated API process, and an operator's session.
struct AdminDashboard: Sendable {
  private let api: Child
  private let port: Int
  private let cookie: String

  static func start(_ stage: Stage) async throws -> AdminDashboard {
    let port = try FreePort.find()
    let token = UUID().uuidString
    let api = try await stage.programs().startAPI(
      port: port, ["FANMILL_ADMIN_TOKEN": token, "FANMILL_LOG_LEVEL": "error"])
    let answer = try HTTPCall.send(
      "POST", "/admin/sign-in", port: port,
      headers: ["Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"],
      body: "token=\(token)&name=bench")
    guard answer.status == 303, let cookie = answer.header("Set-Cookie")?.split(separator: ";").first else {
      throw BenchError("signing in to the dashboard gave status \(answer.status)")
    }
    return AdminDashboard(api: api, port: port, cookie: String(cookie))
  }

  func stop() async throws { try await api.stop() }

  /// Every page, with lists also filtered.
  func pages(_ database: Database) async throws -> [Admin.Question] {
    var paths = [
      "", "/queues", "/queues/fanout", "/jobs", "/workers", "/schedules", "/dead", "/fan-outs", "/rankings",
      // Of the second snapshot, from rank 9,001 on: `Rankings.Cursor`.
      "/rankings?before=\(2 << 17 | 9000)", "/quota", "/actions", "/?window=day", "/?window=week",
      "/dead?kind=rare.kind", "/dead?text=nowhere", "/jobs?text=nowhere", "/jobs?kind=rare.kind", "/jobs?queue=lookups",
      "/jobs?queue=lookups&kind=rare.kind&text=nowhere", "/jobs?since=2026-01-01T00:00",
    ]
    paths += JobState.allCases.map { "/jobs?state=\($0)" }
    for table in ["jobs", "dead_jobs", "ended_jobs"] {
      let ids = try await database.pool.query("SELECT id FROM \(unescaped: table) LIMIT 1").decode(PostgresUUID.self)
      paths += ids.map { "/jobs/\(JobID($0))" }
    }
    return paths.map { path in
      Admin.Question("/admin\(path)") { [port, cookie] in
        let status = try HTTPCall.send("GET", "/admin" + path, port: port, headers: ["Cookie": cookie]).status
        guard status == 200 else { throw BenchError("/admin\(path) gave status \(status)") }
      }
    }
  }
}

extension Programs {
  /// The CLI's lists, each in a separate process.
  var lists: [Admin.Question] {
    [
      "jobs list", "jobs list --state waiting", "jobs list --state retrying", "jobs list --state dead",
      "jobs list --state done", "jobs list --kind rare.kind", "jobs list --queue lookups --text nowhere",
      "dead list", "dead list --kind rare.kind", "queues list", "queues show fanout", "workers list", "schedules list",
      "lookups list", "ranking show youtube", "quota", "stats", "stats --window week",
    ]
    .map { words in
      Admin.Question("fanmill \(words)") { _ = try await run(words.split(separator: " ").map(String.init)) }
    }
  }
}
