import ServiceLifecycle

/// Limits how long one write to a streaming client may take. A client that does not read holds its unsent data and one
/// of the few stream slots, and delays the program's shutdown.
public struct WriteTimeout: Sendable {
  private let limit: Duration
  private let clock: any Clock<Duration>

  public init(_ limit: Duration, clock: any Clock<Duration> = ContinuousClock()) {
    self.limit = limit
    self.clock = clock
  }

  /// Waits for a write.
  ///
  /// - Parameter hangUp: ends the connection, so that the write fails; called when the write takes too long, and when
  ///   the program is asked to stop meanwhile.
  public func wait(
    for write: () async throws -> Void, orElse hangUp: @escaping @Sendable () -> Void
  ) async throws {
    // Cancelled when the write is done.
    async let _ = watch(hangUp)
    try await write()
  }

  private func watch(_ hangUp: @Sendable () -> Void) async {
    do {
      try await cancelWhenGracefulShutdown { [clock, limit] in try await clock.sleep(for: limit) }
    } catch {
      // Cancelled by the end of the write or of the program.
      if Task.isCancelled { return }
    }
    hangUp()
  }
}
