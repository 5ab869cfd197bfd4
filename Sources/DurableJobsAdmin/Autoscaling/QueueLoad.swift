import Foundation

/// A queue's arrivals and run time, smoothed: a measurement's weight halves with each half-life.
public struct QueueLoad: Codable, Sendable, Hashable {
  /// The changes between two measurements of a queue.
  public struct Flow: Sendable {
    /// The time between them, in seconds.
    public var seconds: Double
    /// Attempts that ended, successful or failed.
    public var ended: Int
    /// The total run time of these attempts.
    public var runSeconds: Double
    /// By how many jobs, ready and claimed, the queue grew; negative if it shrank.
    public var growth: Int

    public init(seconds: Double, ended: Int, runSeconds: Double, growth: Int) {
      self.seconds = seconds
      self.ended = ended
      self.runSeconds = runSeconds
      self.growth = growth
    }
  }

  /// The weighted sums of arrivals, ended attempts and running jobs, per second, and their total weight. The weight is
  /// below 1 while measurements are few, so that the first ones count in full.
  private var arrivals = 0.0
  private var endings = 0.0
  private var busy = 0.0
  private var weight = 0.0

  public init() {}

  /// Jobs that become ready, per second. Arrivals are the ended attempts plus the queue's growth, so a job that left
  /// the queue without an attempt does not count. A failed job arrives again when it is due again.
  public var arrivalRate: Double { weight > 0 ? max(0, arrivals / weight) : 0 }

  /// How long an attempt runs, in seconds; nil until one has ended.
  public var runTime: Double? { endings > 1e-9 ? busy / endings : nil }

  /// - Parameter halfLife: in seconds.
  public mutating func note(_ flow: Flow, halfLife: Double) {
    guard flow.seconds > 0 else { return }
    let kept = exp2(-flow.seconds / halfLife)
    func add(_ amount: Double, to sum: inout Double) { sum = sum * kept + amount / flow.seconds * (1 - kept) }
    add(Double(flow.ended + flow.growth), to: &arrivals)
    add(Double(flow.ended), to: &endings)
    add(flow.runSeconds, to: &busy)
    weight = weight * kept + (1 - kept)
  }
}
