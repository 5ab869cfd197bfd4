import Foundation

/// A filter for jobs, and the page of the result to return.
public struct JobFilter: Sendable, Hashable {
  /// nil for all pending jobs.
  public var state: JobState?
  public var kind: String?
  public var queue: String?
  /// Matches the payload as it is shown, byte for byte: values that `SecretFields` masks are not searched.
  public var text: String?
  /// A part of the latest error, byte for byte.
  public var error: String?
  /// Strings that are masked wherever they would be shown, and so are not found by `text` and `error`.
  public var blotted: [String] = []
  /// The start of the range: pending jobs by when they were enqueued, dead and ended ones by when they died or ended.
  public var since: Date?
  /// The end of the range, exclusive.
  public var until: Date?
  /// The `next` of an earlier page; nil for the first.
  public var before: String?
  /// 1 to 100,000.
  public var limit: Int

  public init(
    state: JobState? = nil, kind: String? = nil, queue: String? = nil, text: String? = nil, error: String? = nil,
    since: Date? = nil, until: Date? = nil, before: String? = nil, limit: Int = 50
  ) {
    self.state = state
    self.kind = kind
    self.queue = queue
    self.text = text
    self.error = error
    self.since = since
    self.until = until
    self.before = before
    self.limit = limit
  }
}

extension JobFilter {
  /// The filter in the action log.
  var detail: [String: String] {
    var detail: [String: String] = [:]
    detail["state"] = state?.rawValue
    detail["queue"] = queue
    detail["text"] = text
    detail["error"] = error
    detail["since"] = since?.formatted(.iso8601)
    detail["until"] = until?.formatted(.iso8601)
    return detail
  }
}

/// A page of jobs, newest first; dead and ended jobs by when they died or ended, most recent first.
public struct JobPage: Codable, Sendable {
  public let items: [JobSummary]
  /// The cursor of the next page; nil at the end.
  public let next: String?
  /// How many rows were read, if a filter without an index hit the row limit before the page was full. The page may
  /// then be short or empty, and `next` continues.
  public let searched: Int?
}
