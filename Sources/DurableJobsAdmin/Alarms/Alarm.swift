import DurableJobs
import Foundation

/// An alarm: a queue's oldest job waits, or runs, longer than its limit.
public struct Alarm: Sendable, Hashable {
  /// The time that passed its limit.
  public enum Concern: String, Codable, Sendable, CaseIterable {
    /// The job that has been ready longest is not claimed.
    case waiting
    /// The job that has run longest does not end.
    case running
  }

  public var id: JobID
  public var queue: String
  public var concern: Concern
  /// In seconds.
  public var limit: Double
  /// The measured time when the limit was found exceeded, in seconds.
  public var seconds: Double
  public var openedAt: Date
  /// When the alarm closed; nil while it is open.
  public var closedAt: Date?

  /// One sentence for people.
  public var text: String {
    let job = concern == .waiting ? "the oldest job waits" : "the oldest running job runs"
    if closedAt != nil {
      return "over: queue \(queue): \(job) within its limit of \(Self.time(limit)) again"
    }
    return "queue \(queue): \(job) for \(Self.time(seconds)), longer than \(Self.time(limit))"
  }

  private static func time(_ seconds: Double) -> String {
    if seconds < 10 { return "\((seconds * 10).rounded() / 10) s" }
    if seconds < 600 { return "\(Int(seconds.rounded())) s" }
    return "\(Int((seconds / 60).rounded())) min"
  }
}
