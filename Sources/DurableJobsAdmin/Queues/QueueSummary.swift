import Foundation

/// A queue's numbers, each of them found without walking through the queue.
public struct QueueSummary: Codable, Sendable, Hashable {
  public let queue: String
  /// Waiting in the broker to be claimed.
  public let ready: Int
  /// Waiting in the broker for their time.
  public let delayed: Int
  /// In the hands of workers.
  public let claimed: Int
  /// Workers that serve the queue now.
  public let workers: Int
  /// Durable jobs that are not done, as the broker knows them: ready, delayed and claimed ones.
  public let pending: Int
  /// Durable jobs that no worker knows how to run; 10,000 means that many or more.
  public let parked: Int
  /// Whether workers claim nothing from it.
  public let isPaused: Bool
  /// For how many seconds the job has been ready that has been so longest; nil where none is.
  public let oldestWaiting: Double?
  /// For how many seconds the job has run that has done so longest; nil where none does.
  public let oldestRunning: Double?

  private enum CodingKeys: String, CodingKey {
    case queue, ready, delayed, claimed, workers
    // The name that scripts know.
    case pending = "owed"
    case parked, isPaused, oldestWaiting, oldestRunning
  }

  /// Where counting parked jobs ends.
  public static let maxCounted = 10_000
}

/// A queue, with all that there is to say of it.
public struct QueueDetail: Codable, Sendable, Hashable {
  /// A worker that serves it.
  public struct Worker: Codable, Sendable, Hashable {
    public let name: String
    /// How many of its jobs the worker runs at once.
    public let slots: Int
    /// How many of its jobs it runs now; of many the first few hundred are counted.
    public let running: Int
  }

  public let summary: QueueSummary
  /// Waiting in the broker to be claimed, by priority.
  public let high: Int
  public let normal: Int
  public let low: Int
  public let pausedAt: Date?
  public let pausedBy: String?
  /// By name.
  public let workers: [Worker]
  /// What the last hour brought, by kind.
  public let kinds: [KindStatistics]
}
