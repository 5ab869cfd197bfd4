import Cryptography
import Foundation

/// The key that a hook's requests are signed with, known to the receiver too.
public struct WebhookSecret: Sendable {
  let bytes: [UInt8]

  private static let prefix = "whsec_"

  /// A new random secret.
  public init() { bytes = [UInt8].random(count: 32) }

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Parses the text form; nil for any other text.
  public init?(_ text: String) {
    guard text.hasPrefix(Self.prefix), let data = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
      !data.isEmpty
    else { return nil }
    bytes = Array(data)
  }

  /// `whsec_` and the key in Base64, as receivers configure it.
  public var text: String { Self.prefix + Data(bytes).base64EncodedString() }

  /// The signature of a request: `v1,` and the HMAC-SHA-256 of `ID.TIMESTAMP.BODY` in Base64, as in Standard Webhooks
  /// (https://www.standardwebhooks.com).
  ///
  /// - Parameter timestamp: seconds since 1970.
  public func signature(id: String, timestamp: Int, body: [UInt8]) -> String {
    let message = Array("\(id).\(timestamp).".utf8) + body
    return "v1," + Data(HMACSHA256(key: bytes).code(for: message)).base64EncodedString()
  }

  /// Whether one of the signatures in a request's header is this secret's, compared in constant time.
  public func isValid(_ header: String, id: String, timestamp: Int, body: [UInt8]) -> Bool {
    let message = Array("\(id).\(timestamp).".utf8) + body
    var isValid = false
    for part in header.split(separator: " ") where part.hasPrefix("v1,") {
      guard let code = Data(base64Encoded: String(part.dropFirst(3))) else { continue }
      if HMACSHA256(key: bytes).isValid(Array(code), for: message) { isValid = true }
    }
    return isValid
  }
}

extension WebhookSecret: CustomStringConvertible, CustomReflectable {
  public var description: String { "a webhook's secret" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Seals the hooks' secrets with a key from the settings, so the database alone can sign nothing.
public struct WebhookSecrets: Sendable {
  private let seal: AES256GCM

  /// How long a replaced secret signs too, beside its successor.
  public static let overlapHours: Int32 = 24

  /// - Parameter secret: the key that also seals the signing keys of certificates.
  public init(secret: String) { seal = AES256GCM(secret: secret.utf8, purpose: "fanmill webhook secrets") }

  public func seal(_ secret: WebhookSecret, of hook: Int) throws -> [UInt8] {
    try seal.seal(secret.bytes, for: "webhook \(hook)")
  }

  /// Nil if it was sealed with another key.
  func open(_ sealed: [UInt8], of hook: Int) -> WebhookSecret? {
    seal.open(sealed, for: "webhook \(hook)").map { WebhookSecret($0) }
  }
}
