import Foundation
import LibPQClient
import ProgramTestSupport
import Testing

/// The built admin CLI, configured for a stack.
struct CLI: Sendable {
  let settings: [String: String]

  init(_ stack: TestStack) { settings = stack.settings }
  init(_ settings: [String: String] = [:]) { self.settings = settings }

  /// Runs the CLI and expects `status`, and an explanation on standard error for a failure, unless the result itself
  /// has it (`isNotified`).
  @discardableResult
  func callAsFunction(
    _ arguments: String..., status: Int32 = 0, isNotified: Bool = false, location: SourceLocation = #_sourceLocation
  ) async throws -> BuiltProgram.Outcome {
    let outcome = try await BuiltProgram("fanmill").run(
      arguments, environment: settings, in: NSTemporaryDirectory())
    #expect(
      outcome.status == status, "fanmill \(arguments.joined(separator: " ")): \(outcome.errors)",
      sourceLocation: location)
    if status != 0, status != 64, !isNotified {
      #expect(outcome.errors.hasPrefix("fanmill: "), sourceLocation: location)
    }
    return outcome
  }
}

/// Addresses without a listener.
let nowhere = [
  "FANMILL_POSTGRES_URL": "postgres://nobody@127.0.0.1:1/fanmill", "FANMILL_REDIS_URL": "redis://127.0.0.1:1",
]

/// A file with `text` that exists while `body` runs.
func withFile<Result>(_ text: String, _ body: (String) async throws -> Result) async throws -> Result {
  let path = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
  try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  defer { unlink(path) }
  return try await body(path)
}
