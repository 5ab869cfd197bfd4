/// The condition that a test waited for did not occur.
public struct NeverHappened: Error, CustomStringConvertible {
  public let description: String
}

/// Waits until `condition` holds. It gives up only after a generous time, since a busy machine is slow, not wrong.
public func eventually(
  _ what: String, within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  let looks = Looks()
  while true {
    if try await condition() { return }
    if ContinuousClock.now > deadline { throw NeverHappened(description: "never happened: \(what)") }
    try await looks.pause()
  }
}

/// The same where the source line says enough; the test's own time limit ends it.
public func eventually(_ condition: () async throws -> Bool) async throws {
  let looks = Looks()
  while try await !condition() { try await looks.pause() }
}

/// The pauses between checks of a condition: short at first, then a seventh of the time waited so far, up to 50 ms.
/// Tests that wait for long leave the CPU to the others.
private struct Looks {
  private let begun = ContinuousClock.now

  func pause() async throws {
    try await Task.sleep(for: min(max((.now - begun) / 7, .milliseconds(2)), .milliseconds(50)))
  }
}

/// Waits until `found` returns `expected`; on giving up it reports the last value.
public func eventually<Value: Equatable & Sendable>(
  _ what: String, is expected: Value, within limit: Duration = .seconds(60), _ found: () async throws -> Value
) async throws {
  var last: Value?
  do {
    try await eventually(what, within: limit) {
      let now = try await found()
      last = now
      return now == expected
    }
  } catch is NeverHappened {
    throw NeverHappened(description: "\(what): \(last.map { "\($0)" } ?? "nothing") at the end, and not \(expected)")
  }
}

/// Waits until `produce` returns a value.
public func eventual<Value>(
  _ what: String, within limit: Duration = .seconds(60), _ produce: () async throws -> Value?
) async throws -> Value {
  var produced: Value?
  try await eventually(what, within: limit) {
    produced = try await produce()
    return produced != nil
  }
  guard let produced else { throw NeverHappened(description: what) }
  return produced
}
