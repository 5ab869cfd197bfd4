/// Schedules bytes at a rate: a burst after a pause, then at the rate.
struct UploadPace: Sendable {
  private let bytesPerSecond: Double
  /// How far back unused rate still counts.
  private let credit: Duration
  /// The time up to which the rate is used.
  private var usedUntil: ContinuousClock.Instant

  /// - Parameter burst: how many bytes may pass at once after a pause.
  init(bytesPerSecond: Double, burst: Double, at now: ContinuousClock.Instant) {
    precondition(bytesPerSecond > 0 && burst >= 0, "bytes come at some rate")
    self.bytesPerSecond = bytesPerSecond
    credit = .seconds(burst / bytesPerSecond)
    usedUntil = now - credit
  }

  /// - Returns: when the bytes may pass.
  mutating func use(_ bytes: Int, at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    let begin = max(usedUntil, now - credit)
    usedUntil = begin + .seconds(Double(bytes) / bytesPerSecond)
    return begin
  }
}
