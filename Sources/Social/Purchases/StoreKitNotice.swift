import Cryptography
import Foundation

/// Parses purchases in Apple's App Store Server Notifications, version 2.
extension PurchaseNotice {
  private struct Notification: Decodable {
    struct Body: Decodable {
      var bundleId: String
      var environment: String
      var signedTransactionInfo: String?
    }

    var notificationType: String
    /// Milliseconds since 1970.
    var signedDate: Double
    var data: Body?
  }

  private struct Transaction: Decodable {
    var transactionId: String
    var bundleId: String
    var environment: String
    var productId: String
    var quantity: Int?
    var appAccountToken: UUID?
  }

  /// Extensions that mark Apple's certificates for signing for the App Store, and the certificates of their issuers.
  private static let leafMark = "1.2.840.113635.100.6.11.1"
  private static let issuerMark = "1.2.840.113635.100.6.2.1"

  /// Parses a notification.
  ///
  /// - Parameter now: the time at which its certificates must be valid.
  /// - Returns: nil if it does not concern a product that grants places.
  /// - Throws: `purchases_off`, `malformed_notice`, `forged_notice`.
  public static func storeKit(
    _ text: String, _ rules: PurchaseRules, now: Date
  ) throws(SocialError) -> PurchaseNotice? {
    guard let rules = rules.storeKit else { throw off }
    let notification = try content(Notification.self, of: text, rules, now)
    guard let kind = kind(of: notification.notificationType), let body = notification.data,
      let info = body.signedTransactionInfo
    else { return nil }
    let transaction = try content(Transaction.self, of: info, rules, now)
    let environments = [body.environment, transaction.environment]
    guard [body.bundleId, transaction.bundleId].allSatisfy({ $0 == rules.bundle }) else { throw forged }
    let isForReal = environments.allSatisfy { $0 == "Production" }
    let isTest = environments.allSatisfy { $0 == "Sandbox" }
    guard isForReal || (isTest && rules.acceptsSandbox), let places = rules.products[transaction.productId],
      let token = transaction.appAccountToken
    else { return nil }
    let event = try PurchaseEvent(
      kind, of: transaction.transactionId, from: .storekit,
      places: places * min(max(1, transaction.quantity ?? 1), 1000),
      product: transaction.productId, at: Date(timeIntervalSince1970: notification.signedDate / 1000))
    return PurchaseNotice(token: token, event: event)
  }

  private static func kind(of type: String) -> PurchaseEvent.Kind? {
    switch type {
    case "ONE_TIME_CHARGE": .purchase
    case "REFUND", "REVOKE": .refund
    case "REFUND_REVERSED": .refundReversed
    default: nil
    }
  }

  private static func content<Content: Decodable>(
    _ type: Content.Type, of text: String, _ rules: PurchaseRules.StoreKit, _ now: Date
  ) throws(SocialError) -> Content {
    guard let signed = JSONWebSignature(text, limit: longest) else { throw malformed }
    guard signed.algorithm == "ES256" else { throw forged }
    let key: P256PublicKey
    do {
      key = try CertificateChain.key(
        of: signed.chain, root: rules.root, at: Int(now.timeIntervalSince1970), leafMark: leafMark,
        issuerMark: issuerMark)
    } catch {
      throw forged
    }
    guard key.isValid(signed.signature, for: signed.message) else { throw forged }
    do { return try JSONDecoder().decode(type, from: Data(signed.payload)) } catch { throw malformed }
  }
}
