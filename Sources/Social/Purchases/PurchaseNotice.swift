import Cryptography
import Foundation
import LibPQClient

/// The stores whose notices are accepted.
public struct PurchaseRules: Sendable {
  /// Verifies notices in the generic form; nil accepts none.
  public var key: HMACSHA256?
  /// Nil accepts no notices from Apple.
  public var storeKit: StoreKit?

  public struct StoreKit: Sendable {
    /// The root of all certificate chains, in DER: Apple Root CA - G3.
    public var root: [UInt8]
    /// The bundle id of the app.
    public var bundle: String
    /// How many places each product grants; other products grant none.
    public var products: [String: Int]
    /// Whether testers' purchases, which cost nothing, count.
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

/// A store's notice, after its signature was verified.
public struct PurchaseNotice: Sendable, Hashable {
  /// The account's purchase token.
  public let token: UUID
  public let event: PurchaseEvent

  /// Longer notices are refused without parsing. Apple's have about 10 kB.
  static let longest = 100_000

  static let malformed = SocialError(.malformedNotice, "this is not a signed purchase notice")
  static let forged = SocialError(
    .forgedNotice, "the notice's signature is not from an accepted signer, or the notice was changed")
  static let off = SocialError(.purchasesOff, "this server refuses notices of this kind: no key for them is configured")

  /// Applies the notice.
  ///
  /// - Throws: `not_found` if the token belongs to no account, `receipt_taken`.
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

  /// Parses a notice in the generic form: a JWS with HS256 over `{type, receipt, account, celebs, product?, at}`.
  ///
  /// - Throws: `purchases_off`, `malformed_notice`, `forged_notice`, and the errors of `PurchaseEvent`.
  public init(generic text: String, _ rules: PurchaseRules) throws(SocialError) {
    guard let key = rules.key else { throw Self.off }
    guard let signed = JSONWebSignature(text, limit: Self.longest) else { throw Self.malformed }
    guard signed.algorithm == "HS256", key.isValid(signed.signature, for: signed.message) else { throw Self.forged }
    let content: Content
    do {
      content = try JSONDecoder().decode(Content.self, from: Data(signed.payload))
    } catch {
      throw SocialError(
        .malformedNotice, "a notice needs type, receipt, account (a purchase token), celebs and at (seconds since 1970)"
      )
    }
    guard let kind = PurchaseEvent.Kind(rawValue: content.type) else {
      throw .invalid("type", "must be purchase, refund or refund_reversed")
    }
    guard (0...253_402_300_799).contains(content.at) else {
      throw .invalid("at", "must be a time in seconds since 1970")
    }
    token = content.account
    event = try PurchaseEvent(
      kind, of: content.receipt, from: .notice, places: content.celebs, product: content.product,
      at: Date(timeIntervalSince1970: content.at))
  }
}
