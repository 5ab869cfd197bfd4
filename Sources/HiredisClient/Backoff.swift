/// The pause before the next attempt: doubles from `base` to `limit`, with full jitter.
///
/// Full jitter (any time from zero to the bound) keeps a server's many clients from reconnecting in step after an
/// outage.
struct Backoff {
  let base: Duration
  let limit: Duration
  private var failures = 0

  init(base: Duration = .milliseconds(50), limit: Duration = .seconds(2)) {
    self.base = base
    self.limit = limit
  }

  mutating func reset() { failures = 0 }

  mutating func next() -> Duration {
    let bound = min(limit, base * (1 << min(failures, 20)))
    failures += 1
    return bound * Double.random(in: 0...1)
  }
}
