import Foundation

/// A hook, for operators. Its secret is shown only once, by `WebhookAdmin.add` and `rotate`.
public struct WebhookRecord: Codable, Sendable, Hashable {
  public let id: Int
  /// Without the query, which may contain a key.
  public let url: String
  public let events: [String]
  /// `active`, `paused` or `disabled`.
  public let state: String
  /// Why it is not active.
  public let reason: String?
  /// When its state changed.
  public let changedAt: Date
  public let createdAt: Date
  public let deliveredAt: Date?
  /// Failed attempts since the last delivery.
  public let failures: Int
  public let failingSince: Date?
  /// Deliveries that wait, at most 10,000.
  public let waiting: Int
  public let oldestWaiting: Date?
  /// When the former secret stops signing; nil if there is none.
  public let formerSecretUntil: Date?
}

/// A hook with its new secret.
public struct WebhookWithSecret: Codable, Sendable, Hashable {
  public let webhook: WebhookRecord
  /// `whsec_` and the key in Base64.
  public let secret: String
}

/// One event for one hook.
public struct WebhookDeliveryRecord: Codable, Sendable, Hashable {
  /// As the receiver sees it, such as `evt_12`.
  public let event: String
  public let type: String
  public let subject: String
  public let createdAt: Date
  /// `waiting`, `delivered` or `failed`.
  public let state: String
  public let attempts: Int
  /// The last response's status; nil if there was none.
  public let status: Int?
  /// The start of the last response's body, or why there was none.
  public let answer: String?
  /// How long the last attempt took.
  public let milliseconds: Int?
  public let endedAt: Date?
}

/// A page of deliveries, newest event first.
public struct WebhookDeliveryPage: Codable, Sendable {
  public let items: [WebhookDeliveryRecord]
  /// The cursor of the next page; nil at the end.
  public let next: String?
}
