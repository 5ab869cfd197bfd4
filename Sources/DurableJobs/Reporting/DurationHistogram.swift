/// Counts durations by length, so that percentiles can be read from sums over many workers and minutes.
///
/// Buckets grow with the length: below 100 µs there is one, and each power of two from there has four. A percentile is
/// off by a quarter at most. The last bucket is open and starts at 1 h 52 min.
public struct DurationHistogram: Sendable, Hashable {
  /// The count of each bucket, shortest durations first, without empty buckets at the end.
  public private(set) var counts: [Int]

  /// The number of buckets.
  public static let bucketCount = 105

  /// A quarter of the first bucket, in nanoseconds.
  private static let unit: UInt64 = 25_000

  public init() { counts = [] }

  /// - Parameter counts: as from ``counts``. Negative counts become 0, and counts past the last bucket are dropped.
  public init(counts: [Int]) { self.counts = counts.prefix(Self.bucketCount).map { max(0, $0) } }

  /// The number of durations.
  public var total: Int { counts.reduce(0, +) }

  public var isEmpty: Bool { counts.isEmpty }

  /// Counts one duration.
  public mutating func add(_ duration: Duration) { add(nanoseconds: duration.nanoseconds) }

  mutating func add(nanoseconds: Int64) {
    let bucket = Self.bucket(of: UInt64(max(0, nanoseconds)) / Self.unit)
    if bucket >= counts.count { counts += repeatElement(0, count: bucket + 1 - counts.count) }
    counts[bucket] += 1
  }

  public static func += (sum: inout DurationHistogram, more: DurationHistogram) {
    if more.counts.count > sum.counts.count {
      sum.counts += repeatElement(0, count: more.counts.count - sum.counts.count)
    }
    for (bucket, count) in more.counts.enumerated() { sum.counts[bucket] += count }
  }

  /// The duration that a fraction of the counted ones do not exceed; nil if nothing was counted.
  ///
  /// - Parameter fraction: 0 to 1; 0.99 for the 99th percentile.
  public func percentile(_ fraction: Double) -> Duration? {
    let total = total
    guard total > 0 else { return nil }
    let rank = max(1, (Double(total) * min(1, max(0, fraction))).rounded(.up))
    var below = 0.0
    for (bucket, count) in counts.enumerated() where count > 0 {
      if below + Double(count) >= rank {
        // The durations of a bucket count as evenly spread.
        let (from, to) = (Self.start(of: bucket), Self.start(of: bucket + 1))
        let units = from + (to - from) * (rank - below) / Double(count)
        return .nanoseconds(Int64(units * Double(Self.unit)))
      }
      below += Double(count)
    }
    return nil
  }

  /// Four buckets for each power of two, chosen by the two bits after the leading one.
  private static func bucket(of units: UInt64) -> Int {
    guard units >= 4 else { return 0 }
    let power = 61 - units.leadingZeroBitCount
    return min(1 + power * 4 + Int(units >> UInt64(power) & 3), bucketCount - 1)
  }

  /// A bucket's lower bound, in units.
  private static func start(of bucket: Int) -> Double {
    guard bucket > 0 else { return 0 }
    let (power, quarter) = (bucket - 1).quotientAndRemainder(dividingBy: 4)
    return Double(UInt64(1) << UInt64(power)) * Double(4 + quarter)
  }
}
