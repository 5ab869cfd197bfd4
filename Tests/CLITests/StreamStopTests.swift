import DurableJobsAdmin
import Foundation
import LibPQClient
import LocalStack
import PrivateServers
import ProgramTestSupport
import TestSupport
import Testing

/// The built API with clients of event streams.
@Suite("Streams and the end of the API", .timeLimit(.minutes(3)))
struct StreamStopTests {
  @Test("SIGTERM ends open streams, also those of clients that do not read, and the API with them")
  func stop() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann'), ('bob')")
      let token = try #require(try await CLI(stack)("accounts", "token", "ann", "--json").fields()["token"] as? String)
      let port = try FreePort.find()
      let admin = "an admin token of the tests"
      let api = try BuiltProgram("fanmill-api").start(
        // So long that a stream which delayed the stop would stall the test.
        environment: stack.settings.merging([
          "FANMILL_API_PORT": "\(port)", "FANMILL_ADMIN_TOKEN": admin, "FANMILL_SHUTDOWN_TIMEOUT": "60m",
        ]) { $1 })
      defer { api.send(SIGKILL) }
      let http = LoopbackHTTP(port: port)
      try await eventually("the API answers") { http.isReady() }
      let bearer = "Authorization: Bearer \(token)"
      let listener = try OpenStream(port: port, "/v1/events", bearer, reads: true)
      let deaf = try OpenStream(port: port, "/v1/events", bearer, reads: false)
      let page = try OpenStream(
        port: port, "/admin", "Accept: text/event-stream\r\nCookie: \(try signIn(http, admin))", reads: true)
      try await eventually("the streams are open") {
        listener.received.contains(": listening") && page.received.contains("event: page")
      }
      // Both are sent the same data, more than the system buffers for a client that does not read: about 1.6 MB with
      // such a small receive buffer.
      try await stack.pool.execute(
        """
        INSERT INTO messages (owner_id, peer_id, id, is_own, text, created_at)
        SELECT a.id, b.id, nextval('message_id_sequence'), false, repeat(U&'\\+01F600', 2000), now()
        FROM accounts a, accounts b, generate_series(1, 2000) WHERE a.username = 'ann' AND b.username = 'bob'
        """)
      try await eventually("more is sent than anybody keeps") { listener.receivedBytes > 4_000_000 }
      api.send(SIGTERM)
      let outcome = await api.outcome()
      #expect(outcome.status == 0, "\(outcome.errors)")
      await listener.end()
      await page.end()
      await deaf.end()
      // Complete for the client that reads.
      #expect(listener.received.hasSuffix("0\r\n\r\n"))
    }
  }

  /// The session's cookie.
  private func signIn(_ http: LoopbackHTTP, _ token: String) throws -> String {
    let answer = try http.send(
      "POST", "/admin/sign-in", body: Array("token=\(token.replacing(" ", with: "+"))".utf8),
      headers: ["Origin": "http://127.0.0.1:\(http.port)"])
    return String(try #require(answer.headers["set-cookie"]).prefix { $0 != ";" })
  }
}
