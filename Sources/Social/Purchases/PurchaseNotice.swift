import Cryptography
import Foundation
import LibPQClient

/// Which stores are believed.
public struct PurchaseRules: Sendable {
  /// Signs notices in the generic form; nil, and none is taken.
  public var key: HMACSHA256?
  /// Nil, and no notice of Apple's is taken.
  public var storeKit: StoreKit?

  public struct StoreKit: Sendable {
    /// The root of all chains, in DER: Apple Root CA - G3.
    public var root: [UInt8]
    /// The app that things are bought in.
    public var bundle: String
    /// How many places each product brings; others bring none.
    public var products: [String: Int]
    /// Whether purchases of testers count, which cost nothing.
    public var acceptsSandbox: Bool

    public init(root: [UInt8], bundle: String, products: [String: Int], acceptsSandbox: Bool = false) {
      self.root = root
      self.bundle = bundle
      self.products = products
      self.acceptsSandbox = acceptsSandbox
    }
  }

  public init(key: HMACSHA256? = nil, storeKit: StoreKit? = nil) {
    self.key = key
    self.storeKit = storeKit
  }
}

/// What a store says, once its signature is checked.
public struct PurchaseNotice: Sendable, Hashable {
  /// The account's purchase token.
  public let token: UUID
  public let event: PurchaseEvent

  /// Longer ones are refused before anything is read in them. Apple's have about 10 kB.
  static let longest = 100_000

  static let malformed = SocialError(.malformedNotice, "this is no signed notice of a purchase")
  static let forged = SocialError(.forgedNotice, "the notice was not signed by who may sign it, or was changed since")
  static let off = SocialError(.purchasesOff, "no notices of this kind are taken here: the operator has set no key")

  /// Applies the notice.
  ///
  /// - Throws: `not_found` for a token of no account, `receipt_taken`.
  public func apply(in transaction: PostgresTransaction) async throws -> Purchases.Outcome {
    try await Purchases.apply(event, to: Purchases.account(of: token, in: transaction), in: transaction)
  }
}

extension PurchaseNotice {
  private struct Content: Decodable {
    /// `purchase`, `refund` or `refund_reversed`.
    var type: String
    var receipt: String
    var account: UUID
    var celebs: Int
    var product: String?
    /// Seconds since 1970.
    var at: Double
  }

  /// Reads a notice in the generic form: a JWS with HS256 over `{type, receipt, account, celebs, product?, at}`.
  ///
  /// - Throws: `purchases_off`, `malformed_notice`, `forged_notice`, and as `PurchaseEvent` does.
  public init(generic text: String, _ rules: PurchaseRules) throws(SocialError) {
    guard let key = rules.key else { throw Self.off }
    guard let signed = JSONWebSignature(text, limit: Self.longest) else { throw Self.malformed }
    guard signed.algorithm == "HS256", key.isValid(signed.signature, for: signed.message) else { throw Self.forged }
    let content: Content
    do {
      content = try JSONDecoder().decode(Content.self, from: Data(signed.payload))
    } catch {
      throw SocialError(
        .malformedNotice, "a notice has type, receipt, account (a purchase token), celebs and at (seconds since 1970)")
    }
    guard let kind = PurchaseEvent.Kind(rawValue: content.type) else {
      throw .invalid("type", "is purchase, refund or refund_reversed")
    }
    guard (0...253_402_300_799).contains(content.at) else { throw .invalid("at", "is a time in seconds since 1970") }
    token = content.account
    event = try PurchaseEvent(
      kind, of: content.receipt, from: .notice, places: content.celebs, product: content.product,
      at: Date(timeIntervalSince1970: content.at))
  }
}
