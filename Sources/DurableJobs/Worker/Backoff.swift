/// The pauses of a loop whose other end is away: doubling, with full jitter, up to 2 seconds.
struct Backoff {
  private var failures = 0

  mutating func reset() { failures = 0 }

  /// Waits for the next pause, or less if the stop comes or the task is cancelled.
  mutating func pause(until stop: StopSignal?) async {
    failures += 1
    let ceiling = min(2000, 50 << min(failures, 10))
    let pause = Duration.milliseconds(Int.random(in: ceiling / 4...ceiling))
    guard let stop else {
      // Cancellation ends the pause; the loop looks for it itself.
      do { try await Task.sleep(for: pause) } catch { return }
      return
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await stop.wait() }
      group.addTask { do { try await Task.sleep(for: pause) } catch { return } }
      await group.next()
      group.cancelAll()
    }
  }
}
