import DurableJobs
import TestSupport
import Testing

/// Percentiles from buckets, beside those of the durations themselves.
@Suite struct DurationHistogramTests {
  @Test func anEmptyOneHasNoPercentiles() {
    #expect(DurationHistogram().percentile(0.5) == nil && DurationHistogram().isEmpty)
    #expect(DurationHistogram(counts: [0, 0]).percentile(0.5) == nil)
  }

  @Test func percentilesAreOffByAQuarterAtMost() throws {
    var random = SeededGenerator("percentiles")
    for _ in 0..<200 {
      // From microseconds to an hour, as often in each decade.
      let durations = (0..<Int.random(in: 1...400, using: &random)).map { _ in
        Duration.nanoseconds(Int64(Double.random(in: 3...12.5, using: &random).power10))
      }.sorted()
      var histogram = DurationHistogram()
      for duration in durations { histogram.add(duration) }
      for fraction in [0, 0.5, 0.95, 0.99, 1] {
        let rank = max(1, Int((Double(durations.count) * fraction).rounded(.up)))
        let (exact, found) = (durations[rank - 1], try #require(histogram.percentile(fraction)))
        #expect(
          found <= max(exact * 1.25, .microseconds(100)) && found >= exact * 0.79 - .microseconds(100),
          "\(exact) \(found)")
      }
    }
  }

  @Test func sumsAreAsOneHistogram() {
    var (all, one, other) = (DurationHistogram(), DurationHistogram(), DurationHistogram())
    for number in 0..<1000 {
      let duration = Duration.microseconds(number * number)
      all.add(duration)
      if number.isMultiple(of: 3) { one.add(duration) } else { other.add(duration) }
    }
    one += other
    #expect(one == all && one.total == 1000)
    #expect(DurationHistogram(counts: all.counts) == all)
  }

  @Test func extremesHaveABucket() throws {
    var histogram = DurationHistogram()
    histogram.add(.seconds(-5))
    histogram.add(.zero)
    #expect(histogram.counts == [2])
    histogram.add(.seconds(1_000_000_000))
    #expect(histogram.counts.count == DurationHistogram.bucketCount && histogram.counts.last == 1)
    #expect(DurationHistogram(counts: Array(repeating: 1, count: 1000)).total == DurationHistogram.bucketCount)
    #expect(DurationHistogram(counts: [-4, 1]).total == 1)
    #expect(try #require(histogram.percentile(1)) > .seconds(3600))
  }

  @Test func boundsAreExact() {
    // The first bucket ends at 100 µs; each power of two from there has four.
    for (microseconds, bucket) in [
      (99, 0), (100, 1), (124, 1), (125, 2), (199, 4), (200, 5), (249, 5), (400, 9), (500, 10), (1600, 17),
    ] {
      var histogram = DurationHistogram()
      histogram.add(.microseconds(microseconds))
      #expect(histogram.counts.count == bucket + 1, "\(microseconds) µs")
    }
  }
}

extension Double {
  fileprivate var power10: Double {
    var (value, rest) = (1.0, self)
    while rest >= 1 { (value, rest) = (value * 10, rest - 1) }
    return value * (1 + rest * 9)
  }
}
