import DurableJobs
import DurableJobsAdmin
import Foundation
import HTTPTypes
import LibPQClient
import Locking
import PrivateServers
import ProgramTestSupport
import Reactor
import TestSupport
import Testing

@testable import DurableJobsDashboard
@testable import SocialDashboard

/// On a primary and a streaming standby, both real servers.
@Suite("Lists and the replica", .timeLimit(.minutes(3))) struct ReplicaTests {
  @Test("Lists are read from the replica, but by who has just acted, and from the primary where the replica is away")
  func lists() async throws {
    var options = PrivatePostgres.Options.tests
    options.port = 0
    let primary = try await PrivatePostgres.start(options: options)
    let standby = try await PrivatePostgres.standby(of: primary, options: options)
    let loop = EventLoop(name: "replica")
    defer { loop.stop() }
    try await TestStack.with(server: primary) { stack in
      let configuration = try PostgresConfiguration(url: standby.url)
      let replica = PostgresPool(configuration: configuration, size: 2, loop: loop, logger: .quiet)
      // With such a high limit the replica is used however slow the machine is.
      let reads = PostgresReads(primary: stack.pool, replica: replica, limit: .seconds(600), logger: .quiet)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await replica.run() }
        group.addTask { await reads.run() }
        defer { group.cancelAll() }
        let stage = Stage(
          stack: stack,
          dashboard: try Stage.dashboard(keys: DashboardKeys(full: Stage.token), over: stack, reads: reads),
          findings: Locked([]), address: Locked("192.0.2.1"))
        let one = try await stage.signIn()
        let ids = try await stage.deadLetter(2)
        try await eventually("the replica is used") { reads.usesReplica }
        try await eventually("the replica has it") {
          try await one.get("/admin/dead").contains(ids[1].description)
        }
        // From here on the replica shows stale data, which reveals the readers that use it.
        try await standby.run("SELECT pg_wal_replay_pause()")
        try await eventually("the replica stands still") {
          try await replica.query("SELECT pg_get_wal_replay_pause_state()")[0].decode(String.self) == "paused"
        }

        let acted = try await one.post("/admin/dead", [("do", "retry"), ("id", ids[0].description)])
        let cookie = try #require(acted.headers[values: .setCookie].first { $0.hasPrefix(ActedCookie.name) })
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Max-Age="))
        let both = "\(one.cookie); \(ActedCookie.name)=1"
        for (path, sign, isThere) in [
          ("dead", ids[0].description, false), ("jobs", ids[0].description, true),
          ("actions", ids[0].description, true),
        ] {
          // The visitor who acted sees the change; a later one sees the replica.
          let own = try await stage.send(.get, "/admin/\(path)", cookie: both)
          #expect(own.status == 200 && own.contains(sign) == isThere, "\(path)")
          let later = try await one.get("/admin/\(path)")
          #expect(later.status == 200 && later.contains(sign) != isThere, "\(path)")
        }
        for path in ["fan-outs", "rankings"] { #expect(try await one.get("/admin/\(path)").status == 200) }
        await standby.stop()
        let without = try await one.get("/admin/dead")
        #expect(without.contains(ids[1].description) && !without.contains(ids[0].description))
      }
    }
    await primary.stop()
  }
}
