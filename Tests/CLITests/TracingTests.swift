import Foundation
import Glibc
import LocalStack
import PrivateServers
import ProgramTestSupport
import TestSupport
import Testing

/// The built programs send their spans to a collector.
@Suite("tracing", .timeLimit(.minutes(5))) struct TracingTests {
  /// A stand-in for a collector: it checks each request's form and appends its spans to a file, one a line.
  private static let collector = """
    import http.server, json, re, sys

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers['Content-Length']))
            assert self.path == '/v1/traces' and self.headers['Content-Type'] == 'application/json'
            with open(sys.argv[2], 'a') as file:
                for resource in json.loads(body)['resourceSpans']:
                    service = {a['key']: a['value']['stringValue'] for a in resource['resource']['attributes']}
                    for span in resource['scopeSpans'][0]['spans']:
                        assert re.fullmatch('[0-9a-f]{32}', span['traceId']), span
                        assert re.fullmatch('[0-9a-f]{16}', span['spanId']), span
                        assert 0 < int(span['startTimeUnixNano']) <= int(span['endTimeUnixNano']), span
                        span['service'] = service['service.name']
                        file.write(json.dumps(span) + '\\n')
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{}')

        def log_message(self, *_): pass

    server = http.server.HTTPServer(('127.0.0.1', 0), Collector)
    with open(sys.argv[1], 'w') as file:
        file.write(str(server.server_port))
    server.serve_forever()
    """

  private struct Span: Decodable {
    var traceId: String
    var spanId: String
    var parentSpanId: String?
    var name: String
    var service: String
  }

  @Test("A request, its enqueue and its job are one trace at the collector")
  func oneTrace() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "fanmill-collector-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (portFile, spanFile) = (folder.appending(path: "port"), folder.appending(path: "spans"))
    let server = try await ServerProcess.start(
      ServerProcess.Plan(
        program: try ServerPrograms.find("python3"),
        arguments: ["-c", Self.collector, portFile.path, spanFile.path], log: folder.appending(path: "log").path,
        folder: folder.path))
    defer { server.send(SIGKILL) }
    let port = try await eventual("the collector listens") {
      FileManager.default.fileExists(atPath: portFile.path)
        ? Int(try String(contentsOf: portFile, encoding: .utf8)) : nil
    }
    let id = "4bf92f3577b34da6a3ce929d0e0e4736"
    try await TestStack.with { stack in
      let apiPort = try FreePort.find()
      let settings = stack.settings.merging([
        "FANMILL_HOST": "127.0.0.1", "FANMILL_API_PORT": "\(apiPort)", "FANMILL_WORKER_PORT": "0",
        "FANMILL_REQUEST_TIMEOUT": "60s", "FANMILL_OTLP_URL": "http://127.0.0.1:\(port)",
      ]) { $1 }
      let api = try BuiltProgram("fanmill-api").start(environment: settings)
      defer { api.send(SIGKILL) }
      let worker = try BuiltProgram("fanmill-worker").start(environment: settings)
      defer { worker.send(SIGKILL) }
      var http = LoopbackHTTP(port: apiPort)
      http.patience = 120
      let client = http
      @Sendable func send(
        _ method: String, _ path: String, _ body: String = "", token: String? = nil, headers: [String: String] = [:]
      ) async throws -> LoopbackHTTP.Answer {
        try await withCheckedThrowingContinuation { continuation in
          DispatchQueue.global().async {
            continuation.resume(
              with: Result { try client.send(method, path, token: token, body: Array(body.utf8), headers: headers) })
          }
        }
      }
      try await eventually("the API is ready") {
        do { return try await send("GET", "/readyz").status == 200 } catch { return false }
      }
      struct Token: Decodable { var token: String }
      let account = #"{"username":"ann","email":"ann@example.org","password":"a password","name":"Ann"}"#
      let token = try await send("POST", "/v1/accounts", account).decode(Token.self).token
      let posted = try await send(
        "POST", "/v1/posts", #"{"title":"hello"}"#, token: token,
        headers: ["traceparent": "00-\(id)-00f067aa0ba902b7-01"])
      #expect(posted.status == 201)
      let spans = try await eventual("the job's span is sent") { () -> [Span]? in
        guard FileManager.default.fileExists(atPath: spanFile.path) else { return nil }
        let lines = try String(contentsOf: spanFile, encoding: .utf8).split(
          separator: "\n", omittingEmptySubsequences: true)
        // The last line may still be incomplete.
        let spans = lines.compactMap { try? JSONDecoder().decode(Span.self, from: Data($0.utf8)) }
          .filter { $0.traceId == id }
        return spans.contains { $0.name == "run posts.fan-out" } && spans.contains { $0.name.hasPrefix("POST") }
          ? spans : nil
      }
      let request = try #require(spans.first { $0.name == "POST /v1/posts" })
      let enqueue = try #require(spans.first { $0.name == "enqueue posts.fan-out" })
      let run = try #require(spans.first { $0.name == "run posts.fan-out" })
      #expect(request.parentSpanId == "00f067aa0ba902b7" && request.service == "fanmill-api")
      #expect(enqueue.parentSpanId == request.spanId && enqueue.service == "fanmill-api")
      #expect(run.parentSpanId == enqueue.spanId && run.service == "fanmill-worker")
    }
    try FileManager.default.removeItem(at: folder)
  }
}
