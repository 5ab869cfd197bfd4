import Foundation
import LibPQClient
import ProgramTestSupport
import Testing

/// The admin CLI as it was built, aimed at a stack.
struct CLI: Sendable {
  let settings: [String: String]

  init(_ stack: TestStack) { settings = stack.settings }
  init(_ settings: [String: String] = [:]) { self.settings = settings }

  /// Runs it and expects `status`, and, where something did not happen, a line that says why; not so where the result
  /// itself says it (`isTold`).
  @discardableResult
  func callAsFunction(
    _ arguments: String..., status: Int32 = 0, isTold: Bool = false, location: SourceLocation = #_sourceLocation
  ) async throws -> BuiltProgram.Outcome {
    let outcome = try await BuiltProgram("fanmill").run(
      arguments, environment: settings, in: NSTemporaryDirectory())
    #expect(
      outcome.status == status, "fanmill \(arguments.joined(separator: " ")): \(outcome.errors)",
      sourceLocation: location)
    if status != 0, status != 64, !isTold {
      #expect(outcome.errors.hasPrefix("fanmill: "), sourceLocation: location)
    }
    return outcome
  }
}

/// Nobody listens here.
let nowhere = [
  "FANMILL_POSTGRES_URL": "postgres://nobody@127.0.0.1:1/fanmill", "FANMILL_REDIS_URL": "redis://127.0.0.1:1",
]

/// A file with `text`, for as long as `body` runs.
func withFile<Result>(_ text: String, _ body: (String) async throws -> Result) async throws -> Result {
  let path = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
  try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  defer { unlink(path) }
  return try await body(path)
}
