import Foundation

/// What a certificate states about a fan.
public struct Certificate: Sendable, Hashable, Codable {
  public var platform: Platform
  public var account: String
  /// The fan's username when it was issued.
  public var username: String
  /// When the fan registered the celeb.
  public var since: Date
  /// The fan's hearts since then.
  public var hearts: Int
  /// The fan's place among the celeb's fans, from 1.
  public var rank: Int
  /// How many fans the celeb has.
  public var fans: Int
  public var issuedAt: Date

  public init(
    platform: Platform, account: String, username: String, since: Date, hearts: Int, rank: Int, fans: Int,
    issuedAt: Date
  ) {
    self.platform = platform
    self.account = account
    self.username = username
    self.since = since
    self.hearts = hearts
    self.rank = rank
    self.fans = fans
    self.issuedAt = issuedAt
  }
}

/// A certificate and the token that anybody can check. The token is meant to be shown.
public struct IssuedCertificate: Sendable, Hashable, Codable {
  /// A JWS with Ed25519 (RFC 7515, RFC 8037).
  public var token: String
  public var certificate: Certificate

  public init(token: String, certificate: Certificate) {
    self.token = token
    self.certificate = certificate
  }
}

/// A public key of the server that verifies certificates and receipts (RFC 8037).
public struct SigningKey: Sendable, Hashable, Codable, Identifiable {
  /// The `kid` of what it signed.
  public var id: String
  /// The Ed25519 public key, 32 bytes.
  public var bytes: Data

  public init(id: String, bytes: Data) {
    self.id = id
    self.bytes = bytes
  }

  private enum CodingKeys: String, CodingKey {
    case id = "kid"
    case bytes = "x"
  }
}

extension FanmillClient {
  public var certificates: Certificates { Certificates(sender: sender) }

  /// `certificates`: proofs that anybody can check, without a session.
  public struct Certificates: Sendable {
    let sender: RequestSender

    /// The form of a card, 1200 × 630.
    public enum CardForm: String, Sendable, Hashable, CaseIterable {
      /// Follows the viewer's light or dark colours.
      case svg
      case png
    }

    /// Issues a certificate of the signed-in fan for one of its celebs.
    ///
    /// - Throws: `celeb_not_registered`, `certificates_off`.
    public func issue(for celeb: CelebAccount) async throws -> IssuedCertificate {
      try await sender.value(APIRequest(.get, ["me", "celebs"] + celeb.path + ["certificate"]))
    }

    private struct Checked: Decodable { var certificate: Certificate }

    /// Checks a certificate.
    ///
    /// - Throws: `malformed_certificate`, `forged_certificate`, `certificate_revoked`, `certificates_off`.
    public func check(_ token: String) async throws -> Certificate {
      try await sender.signedOut.value(APIRequest(.get, ["certificates", token]), as: Checked.self).certificate
    }

    /// The page of a certificate for a browser, to which the card's QR code leads.
    public func page(of token: String) throws -> URL {
      try RequestTarget.url(sender.url, ["v1", "certificates", token], [])
    }

    /// The card of a certificate, which a worker draws on request.
    ///
    /// - Parameter limit: how long to wait for the worker.
    /// - Throws: `not_ready`, and what ``check(_:)`` throws.
    public func card(
      _ form: CardForm, of token: String, within limit: Duration = .seconds(60)
    ) async throws -> Data {
      var request = APIRequest(.get, ["certificates", token, "card.\(form.rawValue)"])
      request.headers["Accept"] = "*/*"
      return try await sender.ready(within: limit) { [request] in try await sender.signedOut.send(request) }.body
    }

    private struct Keys: Decodable { var keys: [Key] }

    /// A key of any kind. Those of other kinds are ignored (RFC 7517, 5).
    private struct Key: Decodable {
      private enum CodingKeys: CodingKey { case kty, crv }

      let signing: SigningKey?

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let kind = try container.decodeIfPresent(String.self, forKey: .kty)
        let curve = try container.decodeIfPresent(String.self, forKey: .crv)
        signing = kind == "OKP" && curve == "Ed25519" ? try SigningKey(from: decoder) : nil
      }
    }

    /// The keys that verify certificates and receipts without this server: `/.well-known/jwks.json`.
    public func keys() async throws -> [SigningKey] {
      let request = TransportRequest(
        method: "GET", url: try RequestTarget.url(sender.url, [".well-known", "jwks.json"], []),
        headers: ["User-Agent": sender.userAgent, "Accept": "application/jwk-set+json, application/json"])
      return try RequestSender.decode(try await sender.fetch(request), as: Keys.self).keys.compactMap(\.signing)
    }
  }
}
