import Foundation

/// How often and when a failed request is sent again.
///
/// A request is retried after a network failure, a 408 or 429, or a 502, 503 or 504. Where the route accepts an
/// `Idempotency-Key`, all attempts at a POST share one, so the server does its work once. A request that a retry could
/// harm is sent once.
public struct RetryPolicy: Sendable, Hashable {
  /// The most attempts at a request, the first included.
  public var attempts: Int
  /// The delay before the first retry. Each further one doubles it.
  public var firstDelay: Duration
  /// The longest delay. If the server's `Retry-After` asks for more, the call throws instead.
  public var longestDelay: Duration

  public init(
    attempts: Int = 4, firstDelay: Duration = .milliseconds(500), longestDelay: Duration = .seconds(20)
  ) {
    self.attempts = max(1, attempts)
    self.firstDelay = firstDelay
    self.longestDelay = longestDelay
  }

  public static let standard = RetryPolicy()
  /// One attempt.
  public static let none = RetryPolicy(attempts: 1)

  /// The delay after the given number of failed attempts; nil to give up.
  ///
  /// The delay is a random part of its bound, at least half: clients that failed together come back apart. After a
  /// `Retry-After` up to a tenth is added to what the server asks for.
  func delay(after failures: Int, retryAfter: Duration?) -> Duration? {
    guard failures < attempts else { return nil }
    if let retryAfter {
      guard retryAfter <= longestDelay else { return nil }
      return retryAfter * Double.random(in: 1...1.1)
    }
    return Self.backoff(failures, from: firstDelay, upTo: longestDelay)
  }

  /// A random delay from half to all of `first`, doubled with each failure after the first.
  static func backoff(_ failures: Int, from first: Duration, upTo longest: Duration) -> Duration {
    let doubled = first * Double(1 << min(max(failures - 1, 0), 30))
    return min(doubled, longest) * Double.random(in: 0.5...1)
  }
}
