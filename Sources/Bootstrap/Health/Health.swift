import Hummingbird
import Logging
import Reactor

/// A process's liveness, readiness and metrics for monitoring.
public struct Health: Sendable {
  /// A requirement without which the process cannot work.
  public struct Check: Sendable {
    public let name: String
    let run: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - name: named in the response when the check fails.
    ///   - run: returns if all is well, throws if not; cancelled when it takes too long.
    public init(_ name: String, run: @escaping @Sendable () async throws -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// The currently failing checks.
  public struct Findings: Sendable, Hashable {
    /// Failures that keep the process from working.
    public var failing: [String] = []
    /// Failures that only degrade the process.
    public var degraded: [String] = []
  }

  private let registry: PrometheusRegistry
  private let logger: Logger
  private let probe: Probe<Findings>

  /// - Parameters:
  ///   - checks: the checks without which the process cannot work.
  ///   - degrading: the checks whose failure only degrades the process.
  ///   - patience: how long a check may take before it fails.
  ///   - now: measures the age of results: the checks run at most once a second, for all callers.
  public init(
    checks: [Check], degrading: [Check] = [], registry: PrometheusRegistry, patience: Duration = .seconds(2),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, logger: Logger
  ) {
    self.registry = registry
    self.logger = logger
    probe = Probe(now: now) {
      async let degraded = Self.failures(of: degrading, patience, logger)
      return Findings(failing: await Self.failures(of: checks, patience, logger), degraded: await degraded)
    }
  }

  /// The failing checks, at most a second old.
  public func findings() async -> Findings { await probe.answer() }

  /// The names of the failing checks.
  private static func failures(of checks: [Check], _ patience: Duration, _ logger: Logger) async -> [String] {
    await withTaskGroup(of: String?.self) { group in
      for check in checks {
        group.addTask { await failure(of: check, patience, logger) }
      }
      var names: [String] = []
      for await name in group {
        if let name { names.append(name) }
      }
      return names.sorted()
    }
  }

  private static func failure(of check: Check, _ patience: Duration, _ logger: Logger) async -> String? {
    do {
      // The deadline covers servers that would block even a cancelled check.
      try await Deadline.$current.withValue(Deadline(after: patience)) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await check.run() }
          group.addTask {
            try await Task.sleep(for: patience)
            throw CheckTimeout(patience: patience)
          }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
      return nil
    } catch {
      logger.warning("health check failed", metadata: ["check": "\(check.name)", "error": "\(error)"])
      return check.name
    }
  }

  private struct CheckTimeout: Error, CustomStringConvertible {
    let patience: Duration
    var description: String { "no answer within \(patience)" }
  }

  /// Adds `GET /healthz`, `/readyz` and `/metrics`.
  public func addRoutes(to router: some RouterMethods) {
    addHealth(to: router)
    router.get("metrics") { _, _ in answer(.ok, registry.scrapeBytes(), type: PrometheusText.contentType) }
  }

  /// Adds `GET /healthz` and `/readyz`, for a port whose metrics are on another port.
  public func addHealth(to router: some RouterMethods) {
    router.get("healthz") { _, _ in answer(.ok, #"{"status":"alive"}"#) }
    router.get("readyz") { _, _ in
      let findings = await findings()
      guard !findings.failing.isEmpty else {
        guard !findings.degraded.isEmpty else { return answer(.ok, #"{"status":"ready"}"#) }
        let names = findings.degraded.map { "\"\($0)\"" }.joined(separator: ",")
        return answer(.ok, #"{"status":"ready","degraded":[\#(names)]}"#)
      }
      let failures = findings.failing + findings.degraded
      let problem = """
        {"type":"about:blank","title":"Service Unavailable","status":503,"code":"not_ready",\
        "detail":"failing: \(failures.joined(separator: ", "))"}
        """
      return answer(.serviceUnavailable, problem, type: "application/problem+json")
    }
  }

  /// A server for these three routes alone, for workers, which have no other server.
  ///
  /// - Parameters:
  ///   - limits: limits on clients' connections.
  ///   - onListening: receives the port once the server listens.
  public func service(
    host: String, port: Int, limits: ConnectionLimits = ConnectionLimits(),
    onListening: @escaping @Sendable (Int) -> Void = { _ in }
  ) -> HTTPService<RouterResponder<BasicRequestContext>> {
    let router = Router()
    addRoutes(to: router)
    return HTTPService(
      responder: router.buildResponder(), host: host, port: port, setting: .workerPort, limits: limits, logger: logger,
      onListening: onListening)
  }

  private func answer(
    _ status: HTTPResponse.Status, _ body: String, type: String = "application/json"
  ) -> Response {
    answer(status, Array(body.utf8), type: type)
  }

  private func answer(_ status: HTTPResponse.Status, _ body: [UInt8], type: String) -> Response {
    Response(
      status: status, headers: [.contentType: type, .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }
}
