/// The pauses of a loop whose server is unavailable: those of a retry policy, up to 2 seconds.
struct Backoff {
  private static let policy = RetryPolicy(base: .milliseconds(100), cap: .seconds(2))

  private var failures = 0

  mutating func reset() { failures = 0 }

  /// Waits for the next pause, or until the stop signal or cancellation.
  mutating func pause(until stop: StopSignal?, _ clock: any WallClock = .system) async {
    failures += 1
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
