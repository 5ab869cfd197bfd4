import Foundation

/// A report, for operators.
public struct ReportRecord: Codable, Sendable, Hashable {
  public let id: Int
  /// For example, `post/12` or `comment/12/34`.
  public let subject: String
  /// The subject's author; nil if the account is gone.
  public let author: String?
  public let accountID: Int
  public let reporter: String?
  public let reason: String
  /// The reporter's text.
  public let text: String
  /// The subject's text when it was reported.
  public let excerpt: String
  public let createdAt: Date
  public let resolvedAt: Date?
  /// `dismissed`, `taken_down` or `suspended`; nil while it is open.
  public let resolution: String?
  /// The number of reports about the same subject.
  public let count: Int
}

/// A page of reports, newest first.
public struct ReportPage: Codable, Sendable {
  public let items: [ReportRecord]
  /// The cursor of the next page; nil at the end.
  public let next: String?
}

/// A subject that is taken down.
public struct TakedownRecord: Codable, Sendable, Hashable {
  public let subject: String
  public let author: String?
  public let reason: String
  public let takenDownAt: Date
}
