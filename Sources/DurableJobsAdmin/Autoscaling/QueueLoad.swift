import Foundation

/// What comes to a queue and what it costs, smoothed: what was seen counts half as much after each half-life.
public struct QueueLoad: Codable, Sendable, Hashable {
  /// What happened between two looks at a queue.
  public struct Flow: Sendable {
    /// How long it was between them.
    public var seconds: Double
    /// Attempts that ended, whether they were done or failed.
    public var ended: Int
    /// For how long these ran, together.
    public var runSeconds: Double
    /// By how many jobs, ready and claimed, the queue grew; negative where it shrank.
    public var growth: Int

    public init(seconds: Double, ended: Int, runSeconds: Double, growth: Int) {
      self.seconds = seconds
      self.ended = ended
      self.runSeconds = runSeconds
      self.growth = growth
    }
  }

  /// The weighted sums of arrivals, of ended attempts and of running jobs, each a second, and the weight of them all:
  /// less than 1 as long as little was seen, so that the first looks count in full.
  private var arrivals = 0.0
  private var endings = 0.0
  private var busy = 0.0
  private var weight = 0.0

  public init() {}

  /// Jobs that become ready, a second. What is neither there any more nor ended did not arrive, so arrivals are what
  /// ended and what the queue grew by. A job that failed arrives again when it is due again.
  public var arrivalRate: Double { weight > 0 ? max(0, arrivals / weight) : 0 }

  /// How long an attempt runs, in seconds; nil before one has ended.
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
