import ArgumentParser
import UnixSignals

/// Runs `body` until Ctrl-C, which cancels it; `body` has stopped before this returns.
///
/// - Throws: exit status 130 if it was interrupted.
package func interruptible<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value
{
  let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
  return try await withThrowingTaskGroup(of: Value?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      for await _ in signals { return nil }
      return nil
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() ?? nil else {
      group.cancelAll()
      // Errors after the cancellation are expected.
      do { while try await group.next() != nil {} } catch {}
      throw ExitCode(130)
    }
    return value
  }
}
