import ServiceLifecycle

/// How long one write to a client that listens may take: a client that does not read holds what it was sent, a place
/// among the few that there are, and the end of the program.
public struct WriteTimeout: Sendable {
  private let limit: Duration
  private let clock: any Clock<Duration>

  public init(_ limit: Duration, clock: any Clock<Duration> = ContinuousClock()) {
    self.limit = limit
    self.clock = clock
  }

  /// Waits for a write.
  ///
  /// - Parameter hangUp: ends the connection, so that the write fails; called when it takes too long, and when the
  ///   program is asked to stop meanwhile.
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
      // Cancelled by the write's end, or by the program's.
      if Task.isCancelled { return }
    }
    hangUp()
  }
}
