import Foundation
import FoundationNetworking
import Locking
import Logging
import Metrics
import Testing

@testable import Bootstrap

struct HealthTests {
  private struct Broken: Error {}

  private func serving(
    _ checks: [Health.Check], degrading: [Health.Check] = [],
    _ body: @escaping @Sendable (Int) async throws -> Void
  ) async throws {
    let registry = PrometheusRegistry()
    Counter(label: "hits", factory: registry).increment()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let health = Health(
      checks: checks, degrading: degrading, registry: registry, patience: .milliseconds(50), logger: logger)
    let (ports, running) = AsyncStream.makeStream(of: Int.self)
    let server = health.service(host: "127.0.0.1", port: 0) { running.yield($0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await server.run() }
      group.addTask {
        for await port in ports {
          try await body(port)
          return
        }
      }
      try await group.next()
      group.cancelAll()
    }
  }

  private func get(_ path: String, port: Int) async throws -> (status: Int, type: String?, body: String) {
    let url = try #require(URL(string: "http://127.0.0.1:\(port)\(path)"))
    let (data, response) = try await URLSession.shared.data(from: url)
    let answer = try #require(response as? HTTPURLResponse)
    return (answer.statusCode, answer.value(forHTTPHeaderField: "content-type"), String(decoding: data, as: UTF8.self))
  }

  @Test func aHealthyProcessSaysSo() async throws {
    try await serving([Health.Check("redis") {}]) { port in
      #expect(try await get("/healthz", port: port) == (200, "application/json", #"{"status":"alive"}"#))
      #expect(try await get("/readyz", port: port) == (200, "application/json", #"{"status":"ready"}"#))
      let metrics = try await get("/metrics", port: port)
      #expect(metrics.type == "text/plain; version=0.0.4; charset=utf-8")
      #expect(metrics.body.contains("\nhits_total 1\n"))
    }
  }

  @Test func whatFailsOrHangsIsNamed() async throws {
    let checks = [
      Health.Check("redis") { throw Broken() },
      Health.Check("postgres") { try await Task.sleep(for: .seconds(3600)) },
      Health.Check("disk") {},
    ]
    try await serving(checks) { port in
      #expect(try await get("/healthz", port: port).status == 200)
      let answer = try await get("/readyz", port: port)
      #expect(answer.status == 503 && answer.type == "application/problem+json")
      #expect(answer.body.contains(#""code":"not_ready""#))
      #expect(answer.body.contains("failing: postgres, redis"))
    }
  }

  @Test func whatIsDoneWithoutIsNamed() async throws {
    try await serving([Health.Check("postgres") {}], degrading: [Health.Check("redis") { throw Broken() }]) { port in
      let answer = try await get("/readyz", port: port)
      #expect(answer == (200, "application/json", #"{"status":"ready","degraded":["redis"]}"#))
    }
  }

  /// However many callers, and however often.
  @Test func theChecksRunOnceASecond() async throws {
    let runs = Locked(0)
    let time = Locked(ContinuousClock.now)
    let check = Health.Check("postgres") {
      runs.withLock { $0 += 1 }
      // Long enough for other requests to arrive meanwhile.
      for _ in 0..<100 { await Task.yield() }
      throw Broken()
    }
    let health = Health(
      checks: [check], registry: PrometheusRegistry(), patience: .seconds(60), now: { time.withLock { $0 } },
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    for second in 1...3 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<200 { group.addTask { #expect(await health.findings().failing == ["postgres"]) } }
      }
      #expect(runs.withLock { $0 } == second)
      time.withLock { $0 += .milliseconds(999) }
      _ = await health.findings()
      #expect(runs.withLock { $0 } == second)
      time.withLock { $0 += .milliseconds(1) }
    }
  }

  @Test func aPortThatIsTakenIsNamedWithItsSetting() async throws {
    try await serving([]) { port in
      let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      let health = Health(checks: [], registry: PrometheusRegistry(), logger: logger)
      let error = await #expect(throws: ListenFailure.self) {
        try await health.service(host: "127.0.0.1", port: port).run()
      }
      #expect(
        error?.description.hasPrefix("cannot listen on 127.0.0.1:\(port) (set by FANMILL_WORKER_PORT): ") == true)
    }
  }
}
