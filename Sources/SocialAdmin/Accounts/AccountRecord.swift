import Foundation

/// An account, for operators.
public struct AccountRecord: Codable, Sendable, Hashable {
  public let id: Int
  public let username: String
  public let name: String
  /// nil for an account that came by import.
  public let email: String?
  /// `active`, `unconfirmed` (its first address is), or `suspended`.
  public let state: String
  /// Why it is suspended.
  public let reason: String?
  public let hasPassword: Bool
  public let sessions: Int
  /// In bytes, of its pictures.
  public let pictures: Int
  /// The names that it had within 30 days.
  public let formerNames: [String]
  public let createdAt: Date
}

/// A page of accounts, the newest first.
public struct AccountPage: Codable, Sendable {
  public let items: [AccountRecord]
  /// What to ask for to get the next page; nil at the end.
  public let next: String?
}
