import Foundation

/// How things stand at one moment, for somebody who watches them.
public struct LiveView: Codable, Sendable {
  /// A queue.
  public struct Queue: Codable, Sendable, Hashable {
    public let queue: String
    public let isPaused: Bool
    public let ready: Int
    public let delayed: Int
    public let running: Int
    /// Jobs done a second, over the last minute or two.
    public let rate: Double
    /// Attempts that failed in that time.
    public let failed: Int
    /// How long an attempt ran on average, in seconds; nil where there was none.
    public let meanRun: Double?
    /// For how many seconds the oldest ready job has been so; nil where none is.
    public let oldestWaiting: Double?
  }

  /// A worker and what it runs.
  public struct Worker: Codable, Sendable, Hashable {
    /// A job that it runs.
    public struct Job: Codable, Sendable, Hashable {
      public let id: String
      public let kind: String
      public let attempt: Int
      /// For how many seconds it has run.
      public let since: Double
    }

    public let name: String
    public let state: String
    /// For how many seconds it has been there.
    public let since: Double
    public let running: [Job]
  }

  /// A job that failed.
  public struct Failure: Codable, Sendable, Hashable {
    public let id: String
    public let kind: String
    /// `dead`, or `retrying`.
    public let state: JobState
    public let at: Date
    public let error: String
  }

  public let at: Date
  public let queues: [Queue]
  public let workers: [Worker]
  /// The newest first.
  public let failures: [Failure]
  /// Attempts a minute that fail, over the last minute or two.
  public let failuresPerMinute: Double

  public var rate: Double { queues.reduce(0) { $0 + $1.rate } }
  public var waiting: Int { queues.reduce(0) { $0 + $1.ready + $1.delayed } }
}
