import DurableJobs
import Foundation
import Hummingbird
import LibPQClient
import Social

/// `purchases`, the stores' webhook, and `me/purchases`.
struct PurchaseRoutes: Sendable {
  let pool: PostgresPool
  let rules: PurchaseRules
  /// The maximum number of celebs for an account without purchases.
  let limit: Int

  func add(to group: RouterGroup<APIContext>) {
    group.on(.takePurchaseNotice, use: take)
    group.on(.listPurchases, use: list)
  }

  private struct Wanted: Decodable {
    /// The generic form.
    var notice: String?
    /// Apple's form.
    var signedPayload: String?
  }

  private struct Taken: Encodable {
    let outcome: String
  }

  /// Public: the signature authenticates the sender.
  @Sendable private func take(_ request: Request, _ context: APIContext) async throws -> Answer {
    let wanted = try await RequestBody(request, context).decode(Wanted.self)
    let notice: PurchaseNotice?
    switch (wanted.notice, wanted.signedPayload) {
    case (let text?, nil): notice = try PurchaseNotice(generic: text, rules)
    case (nil, let text?): notice = try PurchaseNotice.storeKit(text, rules, now: JobClock.now)
    default:
      throw SocialError(
        .malformedNotice, "the body needs either notice, a JWS, or signedPayload, as Apple sends it", field: "notice")
    }
    guard let notice else { return try Answer(.ok, Taken(outcome: "ignored")) }
    let outcome = try await pool.transaction { try await notice.apply(in: $0) }
    return try Answer(.ok, Taken(outcome: outcome.rawValue))
  }

  private struct Item: Encodable {
    let source: String
    let receipt: String
    let product: Nullable<String>
    let celebs: Int
    let grantedAt: Nullable<Date>
    let refundedAt: Nullable<Date>

    init(_ purchase: Purchase) {
      source = purchase.source.rawValue
      receipt = purchase.receipt
      product = Nullable(purchase.product)
      celebs = purchase.places
      grantedAt = Nullable(purchase.grantedAt)
      refundedAt = Nullable(purchase.refundedAt)
    }
  }

  private struct Own: Encodable {
    /// The `appAccountToken` that the app passes to the store.
    let token: String
    /// The number of celebs that the account may register now.
    let celebs: Int
    let items: [Item]
    let next: Nullable<Int>
  }

  @Sendable private func list(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer.id
    let page = try request.part(of: try await Purchases.list(of: viewer, in: pool)).map(Item.init)
    let places = try await Purchases.places(of: viewer, limit: limit, in: pool)
    // Last, since it writes: a request that is refused has written nothing.
    let token = try await Purchases.token(of: viewer, in: pool)
    return try Answer(
      .ok,
      Own(token: token.uuidString.lowercased(), celebs: places, items: page.items, next: Nullable(page.next)))
  }
}
