import DurableJobsAdmin
import Foundation
import Glibc

/// Starts and stops a local stack in the background.
public struct LocalStackControl: Sendable {
  public let folder: LocalStackFolder

  public init(_ folder: LocalStackFolder) { self.folder = folder }

  /// Runs this program in the background and waits until its stack is ready.
  ///
  /// - Parameter arguments: the arguments that make this program run the stack in the foreground.
  /// - Returns: the settings to reach the stack.
  /// - Throws: `.failed` with the end of its log if the stack exits first.
  public func start(_ arguments: [String], limit: Duration = .seconds(120)) async throws -> [String: String] {
    try folder.make()
    folder.removeSettings()
    let child = try DetachedProgram.start(arguments, log: folder.log)
    let deadline = ContinuousClock.now + limit
    while true {
      if folder.runner == child, case let settings = folder.settings(), !settings.isEmpty { return settings }
      var status: Int32 = 0
      if waitpid(child, &status, WNOHANG) == child {
        throw OperationError(.failed, "the stack did not start; \(folder.log) ends with:\n\(logTail())")
      }
      guard .now < deadline else {
        kill(child, SIGTERM)
        throw OperationError(.failed, "the stack is not ready after \(limit); \(folder.log) ends with:\n\(logTail())")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Stops the stack gracefully and waits until it is gone.
  ///
  /// - Returns: false if no stack was running.
  /// - Throws: `.failed` if it is still running after `limit`.
  public func stop(limit: Duration = .seconds(90)) async throws -> Bool {
    guard let runner = folder.runner else { return false }
    guard kill(runner, SIGTERM) == 0 else {
      throw OperationError(.failed, "cannot stop process \(runner): \(String(cString: strerror(errno)))")
    }
    let deadline = ContinuousClock.now + limit
    while folder.runner == runner {
      guard .now < deadline else { throw OperationError(.failed, "process \(runner) is still running after \(limit)") }
      try await Task.sleep(for: .milliseconds(50))
    }
    return true
  }

  /// Changes the running stack's number of workers and waits for it: added workers are ready, and surplus ones have
  /// finished or handed back their jobs and exited.
  ///
  /// - Throws: `.failed` if no stack is running, or if the number is not reached within `limit`.
  public func scale(to count: Int, limit: Duration = .seconds(60)) async throws {
    guard let runner = folder.runner else { throw OperationError(.failed, "no stack is running in this folder") }
    try folder.want(workers: count)
    guard kill(runner, SIGUSR1) == 0 else {
      throw OperationError(.failed, "cannot signal process \(runner): \(String(cString: strerror(errno)))")
    }
    let deadline = ContinuousClock.now + limit
    while folder.workers().count != count {
      guard folder.runner == runner else {
        throw OperationError(.failed, "the stack ended; \(folder.log) ends with:\n\(logTail())")
      }
      guard .now < deadline else {
        throw OperationError(.failed, "the stack has \(folder.workers().count) workers after \(limit), not \(count)")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private func logTail() -> String {
    guard let bytes = FileManager.default.contents(atPath: folder.log) else { return "(nothing)" }
    return String(decoding: bytes.suffix(4096), as: UTF8.self).split(separator: "\n").suffix(8).joined(separator: "\n")
  }
}
