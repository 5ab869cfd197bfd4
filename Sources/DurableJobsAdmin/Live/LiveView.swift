import Foundation

/// How things stand at one moment, for somebody who watches them.
public struct LiveView: Sendable {
  /// A queue. It has the members of its ``numbers``.
  @dynamicMemberLookup
  public struct Queue: Sendable, Hashable {
    public let numbers: QueueNumbers
    /// Jobs done a second, over the last minute or two.
    public let rate: Double
    /// Attempts that failed in that time.
    public let failed: Int
    /// How long an attempt ran on average, in seconds; nil where there was none.
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
  /// The newest first.
  public let failures: [Failure]
  /// Attempts a minute that fail, over the last minute or two.
  public let failuresPerMinute: Double

  public var rate: Double { queues.reduce(0) { $0 + $1.rate } }
  public var waiting: Int { queues.reduce(0) { $0 + $1.ready + $1.delayed } }
}
