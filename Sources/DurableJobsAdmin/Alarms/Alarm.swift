import DurableJobs
import Foundation

/// A queue's oldest job waits, or runs, longer than it should.
public struct Alarm: Sendable, Hashable {
  /// What takes too long.
  public enum Concern: String, Codable, Sendable, CaseIterable {
    /// The job that is ready longest is not claimed.
    case waiting
    /// The job that runs longest does not end.
    case running
  }

  public var id: JobID
  public var queue: String
  public var concern: Concern
  /// In seconds.
  public var limit: Double
  /// How long it was when the limit was found passed, in seconds.
  public var seconds: Double
  public var openedAt: Date
  /// When it was found to be over; nil as long as it is not.
  public var closedAt: Date?

  /// One sentence for people.
  public var text: String {
    let job = concern == .waiting ? "the oldest job waits" : "the oldest running job runs"
    if closedAt != nil {
      return "over: queue \(queue), where \(job) no longer than its limit of \(Self.time(limit)) again"
    }
    return "queue \(queue): \(job) for \(Self.time(seconds)), longer than \(Self.time(limit))"
  }

  private static func time(_ seconds: Double) -> String {
    if seconds < 10 { return "\((seconds * 10).rounded() / 10) s" }
    if seconds < 600 { return "\(Int(seconds.rounded())) s" }
    return "\(Int((seconds / 60).rounded())) min"
  }
}
