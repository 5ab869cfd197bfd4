import Foundation

/// An account, for operators.
public struct AccountRecord: Codable, Sendable, Hashable {
  public let id: Int
  public let username: String
  public let name: String
  /// nil for an imported account.
  public let email: String?
  /// `active`, `unconfirmed` (its first email address), or `suspended`.
  public let state: String
  /// The reason for a suspension.
  public let reason: String?
  public let hasPassword: Bool
  public let sessions: Int
  /// The size of its pictures, in bytes.
  public let pictures: Int
  /// Its former names of the last 30 days.
  public let formerNames: [String]
  public let createdAt: Date
}

/// A page of accounts, newest first.
public struct AccountPage: Codable, Sendable {
  public let items: [AccountRecord]
  /// The cursor of the next page; nil at the end.
  public let next: String?
}
