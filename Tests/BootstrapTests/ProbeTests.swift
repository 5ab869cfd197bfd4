import LibPQClient
import Locking
import Logging
import PrivateServers
import TestSupport
import Testing

@testable import Bootstrap

/// A process's health report while its requests use the servers.
@Suite(.timeLimit(.minutes(2))) struct ProbeTests {
  private func withProgram(
    postgres: String, patience: Duration, _ body: @escaping @Sendable (Servers, Health) async throws -> Void
  ) async throws {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let redis = try await SharedServers.redis().url
    let settings = try Settings.read(environment: [
      "FANMILL_POSTGRES_URL": postgres, "FANMILL_REDIS_URL": redis, "FANMILL_POSTGRES_POOL": "1",
    ])
    let program = Program(name: "test", settings: settings, logger: logger)
    try await program.withServers { servers in
      // The database has no schema, which is another check's concern.
      let checks = Health.Check.all(servers).filter { $0.name != "schema" }
      try await body(
        servers, Health(checks: checks, registry: program.registry, patience: patience, logger: logger))
    }
  }

  @Test func requestsThatHoldAllConnectionsMakeNothingUnready() async throws {
    let database = try await SharedServers.freshDatabase()
    try await withProgram(postgres: database, patience: .seconds(30)) { servers, health in
      try await servers.postgres.withConnection { _ in
        #expect(await health.findings() == Health.Findings())
      }
    }
  }

  @Test func aServerThatStandsStillIsNamedAndFoundAgain() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await withProgram(postgres: server.url, patience: .milliseconds(500)) { _, health in
      // A busy machine may take longer to connect.
      try await eventually("it is found") { await health.findings() == Health.Findings() }
      await server.freeze()
      try await eventually("it is missed") { await health.findings().failing == ["postgres"] }
      await server.thaw()
      try await eventually("it is found again") { await health.findings().failing.isEmpty }
    }
    await server.stop()
  }

  @Test func aCheckThatIsCancelledDoesNotWaitForAnotherThatOpensTheConnection() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await withProgram(postgres: server.url, patience: .seconds(30)) { servers, _ in
      let probe = PostgresProbe(servers.postgres)
      await server.freeze()
      try await withThrowingTaskGroup(of: Bool.self) { first in
        first.addTask {
          _ = try await probe.query("SELECT 1")
          return true
        }
        try await eventually("the first one opens it") { await probe.isOpening }
        let second = Task { try await probe.query("SELECT 1") }
        second.cancel()
        await #expect(throws: PostgresError.self) { try await second.value }
        #expect(await probe.isOpening, "the first one goes on")
        await server.thaw()
        #expect(try await first.next() == true)
      }
    }
    await server.stop()
  }
}
