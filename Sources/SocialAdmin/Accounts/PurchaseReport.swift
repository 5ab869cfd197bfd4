import Foundation
import Social

/// What an account bought or was given, the latest first.
public struct PurchaseReport: Sendable, Hashable, Codable {
  /// What was just done: `granted`, `refunded`, `unchanged`; nil where nothing was.
  public let outcome: String?
  public let items: [PurchaseRecord]
}

public struct PurchaseRecord: Sendable, Hashable, Codable {
  /// `operator`, `notice` or `storekit`.
  public let source: String
  public let receipt: String
  public let product: String?
  /// How many more celebs it brings.
  public let celebs: Int
  /// Nil where only its refund has come so far.
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
