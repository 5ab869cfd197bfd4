import Foundation
import Glibc

/// Starts a local stack in the background and ends it.
public struct LocalStackControl: Sendable {
  public let folder: LocalStackFolder

  public init(_ folder: LocalStackFolder) { self.folder = folder }

  /// Runs this program in the background and waits until its stack is ready.
  ///
  /// - Parameter arguments: with which this program runs the stack in the foreground.
  /// - Returns: the settings that reach it.
  /// - Throws: `.failed` with the end of its log if it ends before.
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

  /// Ends the stack in order and waits until it is gone.
  ///
  /// - Returns: false if none ran.
  /// - Throws: `.failed` if it is still there after `limit`.
  public func stop(limit: Duration = .seconds(90)) async throws -> Bool {
    guard let runner = folder.runner else { return false }
    guard kill(runner, SIGTERM) == 0 else {
      throw OperationError(.failed, "process \(runner) cannot be ended: \(String(cString: strerror(errno)))")
    }
    let deadline = ContinuousClock.now + limit
    while folder.runner == runner {
      guard .now < deadline else { throw OperationError(.failed, "process \(runner) is still there after \(limit)") }
      try await Task.sleep(for: .milliseconds(50))
    }
    return true
  }

  private func logTail() -> String {
    guard let bytes = FileManager.default.contents(atPath: folder.log) else { return "(nothing)" }
    return String(decoding: bytes.suffix(4096), as: UTF8.self).split(separator: "\n").suffix(8).joined(separator: "\n")
  }
}
