import Foundation

/// Which jobs to list, and which page of them.
public struct JobFilter: Sendable, Hashable {
  /// nil for all that are pending.
  public var state: JobState?
  public var kind: String?
  public var queue: String?
  /// Stands in the payload as it is shown, letter for letter: what `SecretFields` masks is not searched.
  public var text: String?
  /// What is blotted out wherever it would be shown, and so is not found by `text`.
  public var blotted: [String] = []
  /// Owed jobs that were asked for from this moment on; of dead and ended ones, those that died or ended from then on.
  public var since: Date?
  /// And before this one.
  public var until: Date?
  /// The `next` of an earlier page; nil for the first.
  public var before: String?
  /// 1 to 100,000.
  public var limit: Int

  public init(
    state: JobState? = nil, kind: String? = nil, queue: String? = nil, text: String? = nil, since: Date? = nil,
    until: Date? = nil, before: String? = nil, limit: Int = 50
  ) {
    self.state = state
    self.kind = kind
    self.queue = queue
    self.text = text
    self.since = since
    self.until = until
    self.before = before
    self.limit = limit
  }
}

/// A page of jobs, the newest first; of dead and ended ones, the last to die or end first.
public struct JobPage: Codable, Sendable {
  public let items: [JobSummary]
  /// What to ask for to get the next page; nil at the end.
  public let next: String?
  /// How many rows were looked at, where a filter has no index and the look ended before the page was full: then the
  /// page may be short or empty, and `next` goes on.
  public let searched: Int?
}
