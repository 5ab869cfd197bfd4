import Locking

/// The other end of an event stream. Whether it reads is watched for all clients by one task: a timer for each write would
/// cost each stream kilobytes.
final class EventClient: Sendable {
  private let writingSince = Locked<ContinuousClock.Instant?>(nil)
  /// Ends the connection, so that a write fails that waits for the client.
  let hangUp: @Sendable () -> Void

  init(hangUp: @escaping @Sendable () -> Void) { self.hangUp = hangUp }

  /// Waits for a write.
  func write(_ body: () async throws -> Void) async throws {
    writingSince.withLock { $0 = .now }
    try await body()
    writingSince.withLock { $0 = nil }
  }

  /// Whether a write has been waiting for longer than that.
  func isBehind(by limit: Duration) -> Bool {
    writingSince.withLock { since in since.map { $0.duration(to: .now) > limit } ?? false }
  }
}
