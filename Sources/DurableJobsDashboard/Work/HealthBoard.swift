import DurableJobsAdmin
import Foundation
import Locking

/// The doctor's latest findings. Pages never wait for it: they show the latest findings, and request new ones if these
/// are stale.
final class HealthBoard: Sendable {
  struct Checkup: Sendable {
    let findings: [Finding]
    let at: Date
  }

  /// The age in seconds at which findings are stale.
  static let freshness: TimeInterval = 5
  /// The age in seconds at which findings are no longer shown.
  static let lifetime: TimeInterval = 60

  private let last = Locked<Checkup?>(nil)
  private let requests: AsyncStream<Void>
  private let request: AsyncStream<Void>.Continuation
  private let examine: @Sendable () async -> [Finding]
  private let now: @Sendable () -> Date

  init(now: @escaping @Sendable () -> Date, examine: @escaping @Sendable () async -> [Finding]) {
    (requests, request) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.now = now
    self.examine = examine
    request.yield()
  }

  /// The latest findings; nil before the first, and if they are too old to say how things are.
  func latest() -> Checkup? {
    let checkup = last.withLock { $0 }
    let age = checkup.map { now().timeIntervalSince($0.at) } ?? .infinity
    if age > Self.freshness { request.yield() }
    return age > Self.lifetime ? nil : checkup
  }

  /// Runs the doctor on each request, until its task is cancelled.
  func run() async {
    for await _ in requests {
      let checkup = Checkup(findings: await examine(), at: now())
      last.withLock { $0 = checkup }
    }
  }
}
