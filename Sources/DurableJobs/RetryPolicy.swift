/// The number of attempts of a job and the pauses between them.
///
/// The pause after attempt *n* is drawn uniformly from 0 to min(`cap`, `base` · 2ⁿ⁻¹): exponential backoff with full
/// jitter, which best spreads jobs that failed together (M. Brooker, "Exponential Backoff And Jitter", 2015).
public struct RetryPolicy: Sendable, Hashable {
  /// The number of attempts after which the job is a dead letter. Attempts are counted when a job begins, so a job that
  /// kills its worker counts too.
  public var maxAttempts: Int
  /// The longest pause after the first attempt; it doubles with each further one.
  public var base: Duration
  /// The longest pause after any attempt.
  public var cap: Duration

  public init(maxAttempts: Int = 20, base: Duration = .seconds(1), cap: Duration = .seconds(3600)) {
    self.maxAttempts = maxAttempts
    self.base = base
    self.cap = cap
  }

  /// The pause after attempt number `attempt` (1 for the first) failed.
  public func delay(
    afterAttempt attempt: Int, using generator: inout some RandomNumberGenerator
  ) -> Duration {
    let ceiling = min(cap, base * Double(sign: .plus, exponent: min(max(attempt, 1) - 1, 40), significand: 1))
    return ceiling * Double.random(in: 0...1, using: &generator)
  }
}

extension Duration {
  static func * (duration: Duration, factor: Double) -> Duration {
    .nanoseconds(
      Int64(
        clamping: Int128(
          (Double(duration.components.seconds) * 1e9
            + Double(duration.components.attoseconds) / 1e9) * factor)))
  }

  var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }

  package var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
