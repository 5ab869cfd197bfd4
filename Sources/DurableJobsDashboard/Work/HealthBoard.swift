import DurableJobsAdmin
import Foundation
import Locking

/// The doctor's latest findings. Pages never wait for it: they show the latest findings, and request new ones if these
/// are stale.
final class HealthBoard: Sendable {
  struct Look: Sendable {
    let findings: [Finding]
    let at: Date
  }

  /// The age in seconds at which findings are stale.
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

  /// The latest findings; nil before the first.
  func latest() -> Look? {
    let look = last.withLock { $0 }
    if look.map({ now().timeIntervalSince($0.at) > Self.freshness }) ?? true { wish.yield() }
    return look
  }

  /// Runs the doctor on each request, until its task is cancelled.
  func run() async {
    for await _ in wishes {
      let look = Look(findings: await examine(), at: now())
      last.withLock { $0 = look }
    }
  }
}
