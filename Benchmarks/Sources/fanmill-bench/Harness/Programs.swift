import Foundation
import PrivateServers

/// Fanmill's own executables, as built by `make build`.
struct Programs: Sendable {
  private let folder: String
  private let environment: [String: String]

  init(redis: String, postgres: String) throws {
    let places = [".build/release", "../.build/release"].map { URL(fileURLWithPath: $0).standardizedFileURL.path }
    guard let folder = places.first(where: { FileManager.default.isExecutableFile(atPath: $0 + "/fanmill-worker") })
    else { throw BenchError("Fanmill's executables are not here: `make build` makes them") }
    self.folder = folder
    environment = [
      "FANMILL_REDIS_URL": redis, "FANMILL_POSTGRES_URL": postgres, "FANMILL_LOG_LEVEL": "warning",
      "FANMILL_WORKER_PORT": "0", "FANMILL_LIMITS": "off",
    ]
  }

  /// Runs the CLI to completion and returns its output.
  func run(_ words: [String]) async throws -> String {
    try await Child.output([folder + "/fanmill"] + words, environment: environment)
  }

  func migrate() async throws { _ = try await run(["migrate", "up"]) }

  /// A session token of an account.
  func token(of username: String) async throws -> String {
    try await run(["accounts", "token", username]).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Fails unless the notifications match the likes, comments and follows.
  func auditNotifications() async throws {
    _ = try await run(["notifications", "audit"])
  }

  /// Starts a worker with the default settings, except for those given; it serves a moment later.
  ///
  /// - Parameter schedules: whether it also fires the app's schedules.
  func startWorker(schedules: Bool = true, _ settings: [String: String] = [:]) async throws -> Child {
    try await Child.start(
      [folder + "/fanmill-worker"],
      environment: environment.merging(settings) { $1 }
        .merging(["FANMILL_SCHEDULER": schedules ? "on" : "off"]) { $1 })
  }

  /// Starts the stand-in for YouTube.
  func startYouTube(port: Int, delay: String, searches: Int) async throws -> Child {
    try await Child.start([
      folder + "/fanmill-youtube", "--port", "\(port)", "--delay", delay, "--search-budget", "\(searches)",
    ])
  }

  /// Starts an API with the default settings, except for those given, and waits until it is ready.
  func startAPI(port: Int, _ settings: [String: String] = [:]) async throws -> Child {
    let api = try await Child.start(
      [folder + "/fanmill-api"],
      environment: environment.merging(settings) { $1 }
        .merging(["FANMILL_API_PORT": "\(port)", "FANMILL_HOST": "127.0.0.1"]) { $1 })
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
      guard api.isRunning, .now < deadline else { throw BenchError("the API did not become ready") }
      try await Task.sleep(for: .milliseconds(20))
      if FreePort.isFree(port) { continue }
      if try HTTPCall.send("GET", "/readyz", port: port).status == 200 { return api }
    }
  }
}
