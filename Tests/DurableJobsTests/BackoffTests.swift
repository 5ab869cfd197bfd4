import Foundation
import Locking
import Testing

@testable import DurableJobs

@Suite struct BackoffTests {
  /// A clock that is at once where a sleeper wants to be.
  private final class Leaping: WallClock {
    private let start = ContinuousClock.now
    private let moment = Locked(Date(timeIntervalSince1970: 0))

    var now: Date { moment.withLock { $0 } }
    var instant: ContinuousClock.Instant { start + .seconds(now.timeIntervalSince1970) }

    func sleep(until moment: Date) async throws { self.moment.withLock { $0 = max($0, moment) } }

    func sleep(for duration: Duration) async throws { try await sleep(until: now + duration / .seconds(1)) }
  }

  @Test func aLongOutageIsLoggedFewerAndFewerTimes() async throws {
    let clock = Leaping()
    var backoff = Backoff()
    var logged: [Int] = []
    for failure in 1...300 {
      if backoff.isNews(clock) { logged.append(failure) }
      await backoff.pause(until: nil, clock)
    }
    #expect(logged == [1, 2, 4, 8, 16, 32, 64, 128, 256])
    // The loop went well for a while.
    try await clock.sleep(for: .seconds(61))
    let isNewOutage = backoff.isNews(clock)
    #expect(isNewOutage)
    await backoff.pause(until: nil, clock)
    backoff.reset()
    let isNewAfterReset = backoff.isNews(clock)
    #expect(isNewAfterReset)
  }
}
