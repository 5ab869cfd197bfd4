import Foundation

/// A report, for operators.
public struct ReportRecord: Codable, Sendable, Hashable {
  public let id: Int
  /// Such as `post/12` or `comment/12/34`.
  public let subject: String
  /// Who wrote it; nil if the account is gone.
  public let author: String?
  public let accountID: Int
  public let reporter: String?
  public let reason: String
  /// What the reporter says.
  public let text: String
  /// What the subject said when it was reported.
  public let excerpt: String
  public let createdAt: Date
  public let resolvedAt: Date?
  /// `dismissed`, `taken_down` or `suspended`; nil while it is open.
  public let resolution: String?
  /// How many reports there are about the same.
  public let count: Int
}

/// A page of reports, the newest first.
public struct ReportPage: Codable, Sendable {
  public let items: [ReportRecord]
  /// What to ask for to get the next page; nil at the end.
  public let next: String?
}

/// Something that is down.
public struct TakedownRecord: Codable, Sendable, Hashable {
  public let subject: String
  public let author: String?
  public let reason: String
  public let takenDownAt: Date
}
