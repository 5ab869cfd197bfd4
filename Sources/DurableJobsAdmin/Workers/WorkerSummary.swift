import DurableJobs
import Foundation

/// A worker, for display.
public struct WorkerSummary: Codable, Sendable, Hashable {
  /// The state of a worker.
  public enum State: String, Codable, Sendable, CaseIterable {
    case running
    /// It claims no more.
    case quiet
    /// It claims no more and exits when its running jobs are done.
    case stopping
    /// It has not reported for ten seconds: it is dead, cut off or stalled.
    case lost
  }

  /// A queue that it serves.
  public struct Queue: Codable, Sendable, Hashable {
    public let queue: String
    /// How many of its jobs run at once.
    public let concurrency: Int
    /// Whether it claims nothing from it.
    public let isPaused: Bool

    // The JSON key stays as it was first published.
    private enum CodingKeys: String, CodingKey {
      case queue
      case concurrency = "slots"
      case isPaused
    }
  }

  /// A job that it runs.
  public struct Running: Codable, Sendable, Hashable {
    public let id: String
    public let kind: String
    public let queue: String
    public let attempt: Int
    public let since: Date
  }

  public let name: String
  public let host: String
  public let pid: Int
  public let version: String
  public let startedAt: Date
  public let seenAt: Date
  public let state: State
  /// The order that it has not carried out yet: `quiet` or `stop`.
  public let orders: String?
  public let queues: [Queue]
  /// The running jobs; of many, the first few hundred.
  public let running: [Running]
}
