import Foundation
import Social

/// An account's purchases and grants, latest first.
public struct PurchaseReport: Sendable, Hashable, Codable {
  /// The outcome of the action: `granted`, `refunded` or `unchanged`; nil for a query.
  public let outcome: String?
  public let items: [PurchaseRecord]
}

public struct PurchaseRecord: Sendable, Hashable, Codable {
  /// `operator`, `notice` or `storekit`.
  public let source: String
  public let receipt: String
  public let product: String?
  /// The number of additional celebs.
  public let celebs: Int
  /// nil if only the refund has arrived so far.
  public let grantedAt: Date?
  public let refundedAt: Date?

  init(_ purchase: Purchase) {
    source = purchase.source.rawValue
    receipt = purchase.receipt
    product = purchase.product
    celebs = purchase.places
    grantedAt = purchase.grantedAt
    refundedAt = purchase.refundedAt
  }
}
