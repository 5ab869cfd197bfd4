import HTTPTypes
import Locking
import PrivateServers
import ProgramTestSupport
import Reactor
import TestSupport
import Testing

@testable import DurableJobsDashboard
@testable import SocialDashboard

@Suite("The dashboard and a Postgres that stands still", .timeLimit(.minutes(3))) struct FrozenPostgresTests {
  @Test("A page says in time that the database does not answer, and is there again with it")
  func page() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await TestStack.with(server: server) { stack in
      let stage = Stage(
        stack: stack, dashboard: try Stage.dashboard(keys: DashboardKeys(full: Stage.token), over: stack),
        findings: Locked([]), address: Locked("192.0.2.1"))
      let one = try await stage.signIn()
      await server.freeze()
      for path in ["/admin", "/admin/queues", "/admin/dead"] {
        // As the program's middleware sets it.
        let reply = try await Deadline.$current.withValue(Deadline(after: .milliseconds(300))) {
          try await one.get(path)
        }
        #expect(reply.status == 503, "\(path)")
        #expect(reply.headers[.retryAfter] != nil)
      }
      await server.thaw()
      #expect(try await one.get("/admin/queues").status == 200)
    }
    await server.stop()
  }
}
