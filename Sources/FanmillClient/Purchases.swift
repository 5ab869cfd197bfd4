import Foundation

/// A purchase of places for celebs, or a grant by an operator.
public struct Purchase: Sendable, Hashable, Codable {
  /// Where it comes from.
  public struct Source: OpenValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let storeKit = Source(rawValue: "storekit")
    /// Another store, through a signed notice.
    public static let notice = Source(rawValue: "notice")
    public static let `operator` = Source(rawValue: "operator")
  }

  public var source: Source
  /// The store's id of the receipt.
  public var receipt: String
  /// The store's id of the product.
  public var product: String?
  /// How many places it grants.
  public var celebs: Int
  /// nil if only its refund is known.
  public var grantedAt: Date?
  public var refundedAt: Date?

  public init(
    source: Source, receipt: String, product: String? = nil, celebs: Int, grantedAt: Date? = nil,
    refundedAt: Date? = nil
  ) {
    self.source = source
    self.receipt = receipt
    self.product = product
    self.celebs = celebs
    self.grantedAt = grantedAt
    self.refundedAt = refundedAt
  }
}

/// The signed-in account's purchases.
public struct Purchases: Sendable, Hashable, Codable {
  /// Names the account to a store: StoreKit's `appAccountToken`.
  public var token: UUID
  /// How many celebs the account may register now.
  public var celebs: Int
  /// Newest first.
  public var items: [Purchase]

  public init(token: UUID, celebs: Int, items: [Purchase]) {
    self.token = token
    self.celebs = celebs
    self.items = items
  }
}

/// What a store's notice did.
public struct PurchaseOutcome: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let granted = PurchaseOutcome(rawValue: "granted")
  public static let refunded = PurchaseOutcome(rawValue: "refunded")
  public static let restored = PurchaseOutcome(rawValue: "restored")
  public static let unchanged = PurchaseOutcome(rawValue: "unchanged")
  public static let ignored = PurchaseOutcome(rawValue: "ignored")
}

extension FanmillClient {
  public var purchases: PurchaseRoutes { PurchaseRoutes(sender: sender) }

  /// `me/purchases` and `purchases`.
  public struct PurchaseRoutes: Sendable {
    let sender: RequestSender

    public func list() async throws -> Purchases { try await sender.value(APIRequest(.get, ["me", "purchases"])) }

    private struct Notice: Encodable {
      var notice: String?
      var signedPayload: String?
    }

    private struct Taken: Decodable { var outcome: PurchaseOutcome }

    /// Delivers a notice of a store other than Apple's, as the app's own server does. Its signature is its sender's
    /// authority; it may be delivered again.
    ///
    /// - Parameter notice: a JWS with HS256 and the server's purchase key.
    /// - Throws: `malformed_notice`, `forged_notice`, `purchases_off`, `receipt_taken`, `not_found`.
    @discardableResult
    public func deliver(notice: String) async throws -> PurchaseOutcome {
      try await deliver(Notice(notice: notice))
    }

    /// Delivers an App Store Server Notification, version 2.
    ///
    /// - Throws: what ``deliver(notice:)`` throws.
    @discardableResult
    public func deliver(signedPayload: String) async throws -> PurchaseOutcome {
      try await deliver(Notice(signedPayload: signedPayload))
    }

    private func deliver(_ notice: Notice) async throws -> PurchaseOutcome {
      try await sender.signedOut.value(
        APIRequest(.post, ["purchases"], body: notice, repetition: .safe), as: Taken.self
      ).outcome
    }
  }
}
