import Foundation

/// An event for a receipt, from a store or an operator.
public struct PurchaseEvent: Sendable, Hashable {
  /// The origin of an event. Receipts are unique within one source.
  public enum Source: String, Sendable, Hashable {
    case `operator`
    /// A notice in the generic form.
    case notice
    case storekit
  }

  public enum Kind: String, Sendable, Hashable {
    case purchase
    case refund
    /// A refund that was reversed.
    case refundReversed = "refund_reversed"
  }

  public let source: Source
  /// The store's id of the receipt.
  public let receipt: String
  public let kind: Kind
  /// How many places for celebs it grants.
  public let places: Int
  /// The store's id of the product.
  public let product: String?
  public let date: Date

  /// - Parameter places: 1 to 1,000.
  /// - Throws: `invalid_receipt`, `invalid_celebs`.
  public init(
    _ kind: Kind, of receipt: String, from source: Source, places: Int, product: String? = nil, at date: Date
  ) throws(SocialError) {
    try FieldRules.text(receipt, "receipt", 1...200)
    try FieldRules.text(product, "product", 1...200)
    guard (1...1000).contains(places) else { throw .invalid("celebs", "must be 1 to 1,000 places") }
    self.kind = kind
    self.receipt = receipt
    self.source = source
    self.places = places
    self.product = product
    self.date = date
  }
}

/// A purchase by an account, or a grant to it.
public struct Purchase: Sendable, Hashable {
  public let source: PurchaseEvent.Source
  public let receipt: String
  public let product: String?
  public let places: Int
  /// Nil if only its refund has arrived so far.
  public let grantedAt: Date?
  public let refundedAt: Date?
}
