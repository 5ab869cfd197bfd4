import Hummingbird
import Logging
import Reactor

/// What a process tells those who watch it: that it lives, whether it can work, and its metrics.
public struct Health: Sendable {
  /// One thing without which the process cannot work.
  public struct Check: Sendable {
    public let name: String
    let run: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - name: stands in the answer when it fails.
    ///   - run: returns if all is well, throws if not; cancelled when it takes too long.
    public init(_ name: String, run: @escaping @Sendable () async throws -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// What fails now.
  public struct Findings: Sendable, Hashable {
    /// Checks without which the process cannot work.
    public var failing: [String] = []
    /// Checks without which it works less well.
    public var degraded: [String] = []
  }

  private let registry: PrometheusRegistry
  private let logger: Logger
  private let probe: Probe<Findings>

  /// - Parameters:
  ///   - checks: without which the process cannot work.
  ///   - degrading: without which it works all the same, and says so.
  ///   - patience: how long a check may take before it counts as failed.
  ///   - now: tells how old an answer is: the checks run at most once a second, for all who ask.
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

  /// What fails now, or did within the last second.
  public func findings() async -> Findings { await probe.answer() }

  /// The names of the checks that fail.
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
      // The deadline is for servers that would hold even a check that is cancelled.
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
      logger.warning("a health check failed", metadata: ["check": "\(check.name)", "error": "\(error)"])
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

  /// Adds `GET /healthz` and `/readyz`: for a port whose metrics are on another.
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

  /// A server for these three alone: for the worker, which has no other.
  ///
  /// - Parameters:
  ///   - limits: on clients' connections.
  ///   - onListening: gets the port once it is listened on.
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
