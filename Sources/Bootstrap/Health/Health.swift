import Hummingbird
import Logging

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

  private let checks: [Check]
  private let registry: PrometheusRegistry
  private let patience: Duration
  private let logger: Logger

  /// - Parameter patience: how long a check may take before it counts as failed.
  public init(checks: [Check], registry: PrometheusRegistry, patience: Duration = .seconds(2), logger: Logger) {
    self.checks = checks
    self.registry = registry
    self.patience = patience
    self.logger = logger
  }

  /// The names of the checks that fail now.
  public func failures() async -> [String] {
    await withTaskGroup(of: String?.self) { group in
      for check in checks {
        group.addTask { await failure(of: check) }
      }
      var names: [String] = []
      for await name in group {
        if let name { names.append(name) }
      }
      return names.sorted()
    }
  }

  private func failure(of check: Check) async -> String? {
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await check.run() }
        group.addTask {
          try await Task.sleep(for: patience)
          throw CheckTimeout(patience: patience)
        }
        defer { group.cancelAll() }
        try await group.next()
      }
      return nil
    } catch {
      logger.warning("not ready", metadata: ["check": "\(check.name)", "error": "\(error)"])
      return check.name
    }
  }

  private struct CheckTimeout: Error, CustomStringConvertible {
    let patience: Duration
    var description: String { "no answer within \(patience)" }
  }

  /// Adds `GET /healthz`, `/readyz` and `/metrics`.
  public func addRoutes(to router: some RouterMethods) {
    router.get("healthz") { _, _ in answer(.ok, #"{"status":"alive"}"#) }
    router.get("readyz") { _, _ in
      let failures = await failures()
      guard !failures.isEmpty else { return answer(.ok, #"{"status":"ready"}"#) }
      let problem = """
        {"type":"about:blank","title":"Service Unavailable","status":503,"code":"not_ready",\
        "detail":"failing: \(failures.joined(separator: ", "))"}
        """
      return answer(.serviceUnavailable, problem, type: "application/problem+json")
    }
    router.get("metrics") { _, _ in answer(.ok, registry.scrapeBytes(), type: PrometheusText.contentType) }
  }

  /// A server for these three alone: for the worker, which has no other.
  ///
  /// - Parameter onListening: gets the port once it is listened on.
  public func service(
    host: String, port: Int, onListening: @escaping @Sendable (Int) -> Void = { _ in }
  ) -> HTTPService<RouterResponder<BasicRequestContext>> {
    let router = Router()
    addRoutes(to: router)
    return HTTPService(
      responder: router.buildResponder(), host: host, port: port, setting: .workerPort, logger: logger,
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
