/// The pauses of a loop whose server is unavailable: those of a retry policy, up to 2 seconds.
struct Backoff {
  private static let policy = RetryPolicy(base: .milliseconds(100), cap: .seconds(2))

  private var failures = 0
  /// The end of the last pause.
  private var paused: ContinuousClock.Instant?

  mutating func reset() { failures = 0 }

  /// Whether to log a failure; ask before its pause. True for the 1st, 2nd, 4th, 8th … failure of an outage, and for
  /// the first failure after a minute without one.
  mutating func isNews(_ clock: any WallClock = .system) -> Bool {
    if let paused, paused.duration(to: clock.instant) > .seconds(60) { reset() }
    return (failures + 1).nonzeroBitCount == 1
  }

  /// Waits for the next pause, or until the stop signal or cancellation.
  mutating func pause(until stop: StopSignal?, _ clock: any WallClock = .system) async {
    failures += 1
    defer { paused = clock.instant }
    var generator = SystemRandomNumberGenerator()
    let pause = Self.policy.delay(afterAttempt: failures, using: &generator)
    guard let stop else {
      // Cancellation ends the pause; the loop checks for it itself.
      do { try await clock.sleep(for: pause) } catch { return }
      return
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await stop.wait() }
      group.addTask { do { try await clock.sleep(for: pause) } catch { return } }
      await group.next()
      group.cancelAll()
    }
  }
}
