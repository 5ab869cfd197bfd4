import Dispatch
import DurableJobsAdmin
import Foundation
import LibPQClient
import LocalStack
import PrivateServers
import ProgramTestSupport
import TestSupport
import Testing

/// The built API and worker: their metrics, and a request followed by a single id.
@Suite("metrics, logs, traces", .timeLimit(.minutes(5)))
struct ObservationTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  private static let token = "an admin token of the tests"

  /// An API and, on request, a worker on one stack.
  private struct Scene: Sendable {
    let stack: TestStack
    let settings: [String: String]
    let api: RunningProgram
    let apiPort: Int
    let workerPort: Int

    func worker() throws -> RunningProgram {
      try BuiltProgram("fanmill-worker").start(environment: settings)
    }

    /// On a dedicated thread, since it blocks.
    func send(
      _ method: String, _ path: String, port: Int? = nil, token: String? = nil, _ body: String = "",
      headers: [String: String] = [:]
    ) async throws -> LoopbackHTTP.Answer {
      var waiting = LoopbackHTTP(port: port ?? apiPort)
      waiting.patience = 120
      let http = waiting
      return try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(
            with: Result { try http.send(method, path, token: token, body: Array(body.utf8), headers: headers) })
        }
      }
    }

    /// Opens an account and returns its token.
    func open(_ name: String) async throws -> String {
      let body = #"{"username":"\#(name)","email":"\#(name)@example.org","password":"a password","name":"\#(name)"}"#
      let answer = try await send("POST", "/v1/accounts", body)
      try #require(answer.status == 201, "\(answer.status)")
      return try answer.decode(Token.self).token
    }

    private struct Token: Decodable { var token: String }

    func isReady(_ port: Int) async -> Bool {
      do { return try await send("GET", "/readyz", port: port).status == 200 } catch { return false }
    }
  }

  private static func with(_ more: [String: String] = [:], _ body: @Sendable (Scene) async throws -> Void) async throws
  {
    try await TestStack.with { stack in
      let (apiPort, workerPort) = (try FreePort.find(), try FreePort.find())
      let settings = stack.settings.merging([
        "FANMILL_HOST": "127.0.0.1", "FANMILL_API_PORT": "\(apiPort)", "FANMILL_WORKER_PORT": "\(workerPort)",
        "FANMILL_ADMIN_TOKEN": token, "FANMILL_LOG_LEVEL": "debug", "FANMILL_LOG_FORMAT": "json",
        // On a busy machine, hashing a password alone may take longer than the usual request limit.
        "FANMILL_SHUTDOWN_TIMEOUT": "1s", "FANMILL_REQUEST_TIMEOUT": "60s",
      ]) { $1 }.merging(more) { $1 }
      let api = try BuiltProgram("fanmill-api").start(environment: settings)
      defer { api.send(SIGKILL) }
      let scene = Scene(stack: stack, settings: settings, api: api, apiPort: apiPort, workerPort: workerPort)
      try await eventually("the API is ready") { await scene.isReady(apiPort) }
      try await body(scene)
    }
  }

  /// A trace's lines in a log.
  private static func lines(_ program: RunningProgram, trace: String) -> [[String: String]] {
    program.errorsSoFar.split(separator: "\n").compactMap { line in
      // The last line may still be incomplete.
      let fields = try? JSONDecoder().decode([String: String].self, from: Data(line.utf8))
      return fields?["trace_id"] == trace ? fields : nil
    }
  }

  @Test("A request is followed through the API, the ledger and the worker by one id")
  func aRequestIsFollowed() async throws {
    try await Self.with { scene in
      let ann = try await scene.open("ann")
      let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
      let answer = try await scene.send(
        "POST", "/v1/posts", token: ann, #"{"title":"hello"}"#,
        headers: ["traceparent": "00-\(trace)-00f067aa0ba902b7-01"])
      #expect(answer.status == 201)
      let header = try #require(answer.headers["traceparent"])
      #expect(header.hasPrefix("00-\(trace)-") && !header.contains("00f067aa0ba902b7"))
      try await eventually("the API has logged it") {
        Self.lines(scene.api, trace: trace).contains { $0["path"] == "/v1/posts" && $0["status"] == "201" }
      }
      let rows = try await scene.stack.pool.query(
        "SELECT id::text, kind FROM jobs WHERE trace = '4bf92f3577b34da6a3ce929d0e0e4736'"
      ).decode(String.self, String.self)
      #expect(rows.map(\.1) == ["posts.fan-out"])

      let worker = try scene.worker()
      defer { worker.send(SIGKILL) }
      try await eventually("the worker has logged it") {
        Self.lines(worker, trace: trace).contains {
          $0["job_id"] == rows[0].0 && $0["kind"] == "posts.fan-out" && $0["attempt"] == "1" && $0["queue"] == "fanout"
        }
      }
      // Without the header, a request starts its own trace.
      let other = try await scene.send("GET", "/v1/feed/home", token: ann).headers["traceparent"]
      #expect(other?.hasPrefix("00-") == true && other?.contains(trace) == false)
    }
  }

  @Test("With a port of their own operators have nothing on the API's port, and clients nothing on theirs")
  func aPortForOperators() async throws {
    let (port, read) = (try FreePort.find(), "a read-only token of the tests")
    try await Self.with(["FANMILL_ADMIN_PORT": "\(port)", "FANMILL_ADMIN_READ_TOKEN": read]) { scene in
      try await eventually("the operators' port is ready") { await scene.isReady(port) }
      func status(_ method: String, _ path: String, on port: Int?, as token: String? = nil) async throws -> Int {
        try await scene.send(method, path, port: port, token: token, method == "POST" ? #"{"payload":{}}"# : "").status
      }
      for path in ["/healthz", "/readyz"] {
        #expect(try await status("GET", path, on: nil) == 200)
        #expect(try await status("GET", path, on: port) == 200)
      }
      for path in ["/metrics", "/admin", "/admin/queues"] {
        #expect(try await status("GET", path, on: nil, as: Self.token) == 404, "\(path)")
      }
      #expect(try await status("GET", "/metrics", on: port) == 200)
      #expect([200, 303].contains(try await status("GET", "/admin/sign-in", on: port)))
      // On the API's port operators' tokens are invalid and their routes do not exist.
      for token in [Self.token, read] {
        #expect(try await status("GET", "/v1/autoscaling/fanout", on: nil, as: token) == 404)
        #expect(try await status("POST", "/v1/jobs/sessions.sweep", on: nil, as: token) == 404)
        #expect(try await status("GET", "/v1/me", on: nil, as: token) == 401)
        try await eventually("the queues are sampled") {
          try await status("GET", "/v1/autoscaling/fanout", on: port, as: token) == 200
        }
      }
      let ann = try await scene.open("ann")
      #expect(try await status("GET", "/v1/autoscaling/fanout", on: nil, as: ann) == 404)
      #expect(try await status("GET", "/v1/autoscaling/fanout", on: port, as: ann) == 403)
      #expect(try await status("POST", "/v1/jobs/sessions.sweep", on: port, as: read) == 403)
      #expect(try await status("POST", "/v1/jobs/sessions.sweep", on: port, as: Self.token) == 202)
      #expect(try await status("GET", "/v1/me", on: port, as: ann) == 404)
    }
  }

  @Test("A job that fails is found by the id of its request")
  func aFailureIsFollowed() async throws {
    try await Self.with(["FANMILL_LOG_LEVEL": "info"]) { scene in
      let worker = try scene.worker()
      defer { worker.send(SIGKILL) }
      // The job fails, since the database rejects this number of days.
      let answer = try await scene.send(
        "POST", "/v1/jobs/feed.partitions", token: Self.token, #"{"payload":{"keepDays":-9223372036854775808}}"#)
      let header = try #require(answer.headers["traceparent"])
      let trace = String(header.dropFirst(3).prefix(32))
      try await eventually("the worker says that it failed") {
        Self.lines(worker, trace: trace).contains { $0["kind"] == "feed.partitions" && $0["error"] != nil }
      }
    }
  }

  // MARK: Metrics

  private static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }
  private static let isCI = ProcessInfo.processInfo.environment["FANMILL_STRICT"] != nil

  @Test(
    "What the API and a worker write is what Prometheus reads, and all of it is documented",
    .enabled(
      if: promtool != nil || isCI, "NOT TESTED: no promtool here, which Debian's package prometheus has (make setup)"))
  func metricsAreReadByPrometheus() async throws {
    let promtool = try #require(Self.promtool, "CI has promtool: scripts/install-packages dev installs it")
    try await Self.with { scene in
      let worker = try scene.worker()
      defer { worker.send(SIGKILL) }
      try await eventually("the worker is ready") { await scene.isReady(scene.workerPort) }
      let ann = try await scene.open("ann")
      _ = try await scene.send("POST", "/v1/posts", token: ann, #"{"title":"hello"}"#)
      _ = try await scene.send("GET", "/v1/posts/1\"x", token: ann)
      _ = try await scene.send("PROPFIND", "/v1/posts", token: ann)
      _ = try await scene.send("GET", "/nothing/here")
      let page = try String(contentsOf: Self.root.appending(path: "docs/metrics.md"), encoding: .utf8)
      for port in [scene.apiPort, scene.workerPort] {
        let text = try await eventual("the stack is shown by \(port)") {
          let text = String(decoding: try await scene.send("GET", "/metrics", port: port).body, as: UTF8.self)
          return text.contains(#"fanmill_ledger_debt_jobs{queue="fanout"}"#) ? text : nil
        }
        for match in text.matches(of: /# TYPE (\S+) (\S+)/) {
          #expect(page.contains("| `\(match.1)` | \(match.2) |"), "\(match.1) is not in docs/metrics.md")
        }
        let verdict = try await withInput(text) { file in
          try await BuiltProgram(path: "/bin/sh").run(["-c", "\(promtool) check metrics < \(file)"])
        }
        #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
        #expect(verdict.errors.isEmpty, "\(verdict.errors)")
      }
      let api = String(decoding: try await scene.send("GET", "/metrics").body, as: UTF8.self)
      #expect(api.contains(#"fanmill_http_requests_total{method="POST",route="/v1/posts",status="2xx"} 1"#))
      #expect(api.contains(#"fanmill_http_requests_total{method="other",route="not_found",status="4xx"} 1"#))
      #expect(!api.contains("nothing/here") && !api.contains("PROPFIND"))
      try await eventually("the worker has counted") {
        String(decoding: try await scene.send("GET", "/metrics", port: scene.workerPort).body, as: UTF8.self)
          .contains(#"fanmill_job_run_seconds_count{kind="posts.fan-out",queue="fanout"} 1"#)
      }
    }
  }

  private func withInput<Result>(_ text: String, _ body: (String) async throws -> Result) async throws -> Result {
    try await withFile(text, body)
  }

  // MARK: Autoscaling, alarms

  private struct Wanted: Decodable {
    var queue: String
    var workers: Int
    var serving: Int
    var ready: Int
  }

  @Test("An autoscaler learns how many workers a queue needs, with the admin token")
  func autoscaling() async throws {
    try await Self.with(["FANMILL_AUTOSCALING_LEAST": "3"]) { scene in
      let path = "/v1/autoscaling/fanout"
      let answer = try await eventual("the queues are looked at") {
        let answer = try await scene.send("GET", path, token: Self.token)
        return answer.status == 200 ? answer : nil
      }
      let wanted = try answer.decode(Wanted.self)
      #expect(wanted.queue == "fanout" && wanted.workers == 3 && wanted.serving == 0 && wanted.ready == 0)
      #expect(try await scene.send("GET", path).status == 401)
      #expect(try await scene.send("GET", path, token: try await scene.open("ann")).status == 403)
      let unknown = try await scene.send("GET", "/v1/autoscaling/nowhere", token: Self.token)
      #expect(unknown.status == 404)
      #expect(String(decoding: unknown.body, as: UTF8.self).contains(#""code":"unknown_queue""#))
    }
  }

  @Test("Without a worker the API itself gives the alarm, to the webhook and in its log, once")
  func anAlarmWithoutWorkers() async throws {
    let port = try FreePort.find()
    try await Self.with([
      "FANMILL_ALARMS": "fanout:waiting=100ms", "FANMILL_ALARM_WEBHOOK": "http://127.0.0.1:\(port)/hook",
    ]) { scene in
      let ann = try await scene.open("ann")
      _ = try await scene.send("POST", "/v1/posts", token: ann, #"{"title":"hello"}"#)
      try await eventually("it is logged") { scene.api.errorsSoFar.contains("alarm: queue fanout") }
      try await eventually("the webhook is tried, and is not there") {
        scene.api.errorsSoFar.contains("an alarm message was not delivered")
      }
      try await eventually("it is shown") {
        String(decoding: try await scene.send("GET", "/metrics").body, as: UTF8.self)
          .contains(#"fanmill_alarm{queue="fanout",what="waiting"} 1"#)
      }
      let worker = try scene.worker()
      defer { worker.send(SIGKILL) }
      try await eventually("it is over") {
        (scene.api.errorsSoFar + worker.errorsSoFar).contains("over: queue fanout")
      }
      let given = scene.api.errorsSoFar.split(separator: "\n").count { $0.contains("alarm: queue fanout") }
      #expect(given == 1)
    }
  }
}
