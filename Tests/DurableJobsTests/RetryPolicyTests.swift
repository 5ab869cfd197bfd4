import DurableJobs
import TestSupport
import Testing

@Suite struct RetryPolicyTests {
  @Test func pausesAreWithinTheirBounds() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    let policy = RetryPolicy(maxAttempts: 20, base: .milliseconds(100), cap: .seconds(10))
    for attempt in 1...60 {
      let ceiling = attempt > 8 ? Duration.seconds(10) : min(.seconds(10), .milliseconds(100 << (attempt - 1)))
      var longest = Duration.zero
      for _ in 0..<200 {
        let pause = policy.delay(afterAttempt: attempt, using: &generator)
        #expect(pause >= .zero && pause <= ceiling, "attempt \(attempt), seed \(seed)")
        longest = max(longest, pause)
      }
      // Full jitter uses the whole span: 200 draws all below a tenth of it have a chance of one in 10²⁰⁰.
      #expect(longest > ceiling / 10, "attempt \(attempt), seed \(seed)")
    }
  }

  @Test func nothingOverflows() {
    var generator = SeededGenerator(seed: 1)
    let policy = RetryPolicy(maxAttempts: .max, base: .seconds(1_000_000_000), cap: .seconds(Int64.max / 4))
    for attempt in [Int.min, -1, 0, 1, 64, 65, 1000, Int.max] {
      #expect(policy.delay(afterAttempt: attempt, using: &generator) >= .zero)
    }
    #expect(RetryPolicy(base: .zero).delay(afterAttempt: 5, using: &generator) == .zero)
  }
}
