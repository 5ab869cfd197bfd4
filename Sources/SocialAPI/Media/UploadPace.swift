/// When bytes may go on that come at a rate: after a pause some at once, the rest as the rate allows.
struct UploadPace: Sendable {
  private let bytesPerSecond: Double
  /// How long before now what was not used may be used still.
  private let credit: Duration
  /// Until when the rate is used up.
  private var usedUntil: ContinuousClock.Instant

  /// - Parameter burst: how many bytes go on at once after a pause.
  init(bytesPerSecond: Double, burst: Double, at now: ContinuousClock.Instant) {
    precondition(bytesPerSecond > 0 && burst >= 0, "bytes come at some rate")
    self.bytesPerSecond = bytesPerSecond
    credit = .seconds(burst / bytesPerSecond)
    usedUntil = now - credit
  }

  /// - Returns: when so many bytes may go on.
  mutating func use(_ bytes: Int, at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    let begin = max(usedUntil, now - credit)
    usedUntil = begin + .seconds(Double(bytes) / bytesPerSecond)
    return begin
  }
}
