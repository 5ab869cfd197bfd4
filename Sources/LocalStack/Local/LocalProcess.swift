import Bootstrap
import DurableJobsAdmin
import Foundation
import PrivateServers

/// One of the stack's processes: the API, a worker or the stand-in for YouTube, with its health check on a port of
/// 127.0.0.1.
public struct LocalProcess: Sendable {
  /// For example, `api` or `worker-2`; also names the log.
  public let name: String
  let program: String
  public let port: Int
  var arguments: [String] = []
  let environment: [String: String]
  public let log: String

  /// - Parameters:
  ///   - servers: the settings of the servers, by variable.
  ///   - folder: the folder of its log.
  public static func api(port: Int, servers: [String: String], folder: String) throws(OperationError) -> LocalProcess {
    LocalProcess(
      name: "api", program: try ProgramFiles.program("fanmill-api"), port: port,
      environment: servers.merging(["FANMILL_API_PORT": String(port), "FANMILL_HOST": "127.0.0.1"]) { $1 },
      log: folder + "/api.log")
  }

  /// A worker, with health and metrics on a free port.
  ///
  /// - Parameters:
  ///   - number: 1 for the first; names the process and its log.
  ///   - folder: the folder of its log.
  public static func worker(
    _ number: Int, servers: [String: String], folder: String
  ) throws -> LocalProcess {
    let port = try FreePort.find()
    return LocalProcess(
      name: "worker-\(number)", program: try ProgramFiles.program("fanmill-worker"), port: port,
      environment: servers.merging(["FANMILL_WORKER_PORT": String(port), "FANMILL_HOST": "127.0.0.1"]) { $1 },
      log: folder + "/worker-\(number).log")
  }

  /// A stand-in for the YouTube Data API with invented channels.
  public static func youtube(port: Int, folder: String) throws(OperationError) -> LocalProcess {
    LocalProcess(
      name: "youtube", program: try ProgramFiles.program("fanmill-youtube"), port: port,
      arguments: ["--port", String(port)], environment: [:], log: folder + "/youtube.log")
  }

  /// The settings that direct the other processes to the stand-in, which accepts any key.
  static func youtubeSettings(port: Int) -> [String: String] {
    [
      "FANMILL_YOUTUBE_URL": "http://127.0.0.1:\(port)/youtube/v3",
      "FANMILL_YOUTUBE_KEYS": "made-up-key-of-the-stand-in",
    ]
  }

  /// Starts the process and returns immediately.
  public func start() async throws -> ServerProcess {
    try await ServerProcess.start(
      ServerProcess.Plan(
        program: program, arguments: arguments, log: log, folder: "/", environment: environment, deathSignal: "TERM"))
  }

  /// Waits until the process reports that it is ready.
  ///
  /// - Throws: `.failed` if it exits first, or takes longer than `limit`.
  public func waitUntilReady(_ process: ServerProcess, limit: Duration = .seconds(30)) async throws {
    let deadline = ContinuousClock.now + limit
    let http = LoopbackHTTP(port: port)
    while !http.isReady() {
      if process.hasEnded { throw failure("ended with status \(await process.end())") }
      guard .now < deadline else { throw failure("is not ready after \(limit)") }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Waits until the process is ready, then until it exits; stops it if the task is cancelled.
  ///
  /// - Parameter patience: how long it has to finish running work.
  /// - Returns: its exit status, or 128 + the signal.
  /// - Throws: `.failed` if it never became ready; `CancellationError`.
  func serve(
    _ running: ServerProcess, patience: Duration, whenReady: @Sendable () -> Void
  ) async throws -> Int32 {
    do {
      try await waitUntilReady(running)
      whenReady()
    } catch {
      running.stop(within: patience)
      await running.end()
      throw error
    }
    let status = await withTaskCancellationHandler {
      await running.end()
    } onCancel: {
      running.stop(within: patience)
    }
    try Task.checkCancellation()
    return status
  }

  func failure(_ what: String) -> OperationError {
    var tail = "(no log)"
    if let bytes = FileManager.default.contents(atPath: log) {
      tail = String(decoding: bytes.suffix(4096), as: UTF8.self).split(separator: "\n").suffix(5).joined(
        separator: "\n")
    }
    return OperationError(.failed, "\(name) \(what); its log, \(log), ends with:\n\(tail)")
  }
}
