import Foundation

/// What a store, or an operator, says of a receipt.
public struct PurchaseEvent: Sendable, Hashable {
  /// Who says it. Receipts are told apart within one source.
  public enum Source: String, Sendable, Hashable {
    case `operator`
    /// A notice in the generic form.
    case notice
    case storekit
  }

  public enum Kind: String, Sendable, Hashable {
    case purchase
    case refund
    /// A refund that was taken back.
    case refundReversed = "refund_reversed"
  }

  public let source: Source
  /// The store's name for it.
  public let receipt: String
  public let kind: Kind
  /// How many places for celebs it brings.
  public let places: Int
  /// The store's name for what was bought.
  public let product: String?
  public let date: Date

  /// - Parameter places: 1 to 1,000.
  /// - Throws: `invalid_receipt`, `invalid_celebs`.
  public init(
    _ kind: Kind, of receipt: String, from source: Source, places: Int, product: String? = nil, at date: Date
  ) throws(SocialError) {
    try FieldRules.text(receipt, "receipt", 1...200)
    try FieldRules.text(product, "product", 1...200)
    guard (1...1000).contains(places) else { throw .invalid("celebs", "is 1 to 1,000 places") }
    self.kind = kind
    self.receipt = receipt
    self.source = source
    self.places = places
    self.product = product
    self.date = date
  }
}

/// What an account bought or was given.
public struct Purchase: Sendable, Hashable {
  public let source: PurchaseEvent.Source
  public let receipt: String
  public let product: String?
  public let places: Int
  /// Nil where only its refund has come so far.
  public let grantedAt: Date?
  public let refundedAt: Date?
}
