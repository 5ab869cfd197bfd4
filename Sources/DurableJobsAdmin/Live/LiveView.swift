import Foundation

/// The state of the queues at one moment, for live display.
public struct LiveView: Sendable {
  /// A queue. It has the members of its ``numbers``.
  @dynamicMemberLookup
  public struct Queue: Sendable, Hashable {
    public let numbers: QueueNumbers
    /// Jobs done a second, over the last minute or two.
    public let rate: Double
    /// Attempts that failed in that time.
    public let failed: Int
    /// The mean run time of an attempt, in seconds; nil if there was none.
    public let meanRun: Double?

    public subscript<Value>(dynamicMember member: KeyPath<QueueNumbers, Value>) -> Value { numbers[keyPath: member] }
  }

  /// A worker and what it runs.
  public struct Worker: Sendable, Hashable {
    /// A job that it runs.
    public struct Job: Sendable, Hashable {
      public let id: String
      public let kind: String
      public let attempt: Int
      /// How long it has run, in seconds.
      public let since: Double
    }

    public let name: String
    public let state: String
    /// How long the worker has been up, in seconds.
    public let since: Double
    public let running: [Job]
  }

  /// A job that failed.
  public struct Failure: Sendable, Hashable {
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
  /// Newest first.
  public let failures: [Failure]
  /// Failed attempts a minute, over the last minute or two.
  public let failuresPerMinute: Double

  public var rate: Double { queues.reduce(0) { $0 + $1.rate } }
  public var waiting: Int { queues.reduce(0) { $0 + $1.ready + $1.delayed } }
}
