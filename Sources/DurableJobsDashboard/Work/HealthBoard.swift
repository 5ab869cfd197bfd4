import DurableJobsAdmin
import Foundation
import Locking

/// What the doctor found when he last looked. Pages never wait for him: they show the last look, and ask for a new one
/// where it is old.
final class HealthBoard: Sendable {
  struct Look: Sendable {
    let findings: [Finding]
    let at: Date
  }

  /// The age in seconds at which a look is old.
  static let freshness: TimeInterval = 5

  private let last = Locked<Look?>(nil)
  private let wishes: AsyncStream<Void>
  private let wish: AsyncStream<Void>.Continuation
  private let examine: @Sendable () async -> [Finding]
  private let now: @Sendable () -> Date

  init(now: @escaping @Sendable () -> Date, examine: @escaping @Sendable () async -> [Finding]) {
    (wishes, wish) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.now = now
    self.examine = examine
    wish.yield()
  }

  /// The last look; nil before the first.
  func latest() -> Look? {
    let look = last.withLock { $0 }
    if look.map({ now().timeIntervalSince($0.at) > Self.freshness }) ?? true { wish.yield() }
    return look
  }

  /// Looks whenever that is wished, until its task is cancelled.
  func run() async {
    for await _ in wishes {
      let look = Look(findings: await examine(), at: now())
      last.withLock { $0 = look }
    }
  }
}
