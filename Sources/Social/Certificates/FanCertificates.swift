import Cryptography
import Foundation
import LibPQClient

/// Issues and verifies certificates.
///
/// A certificate is a JWS signed with Ed25519. Anyone can verify it with the public keys at `/.well-known/jwks.json`;
/// only this server knows whether it was revoked.
public struct FanCertificates: Sendable {
  /// The type in a certificate's header.
  static let type = "fan+jwt"
  /// The maximum length of a certificate. Longer texts are malformed: a username has at most 100 characters.
  static let longest = 2048

  private let keys: SigningKeys
  /// Verifies certificates signed by versions before 0.1.
  private let former: CertificateKey

  /// - Parameter secret: from the settings.
  public init(secret: String) {
    keys = SigningKeys(secret: secret)
    former = CertificateKey(secret)
  }

  /// - Parameter now: the time of issue; nil for the current time.
  /// - Throws: `celeb_not_registered`, `certificates_off`.
  public func issue(
    for account: CelebAccount, of fan: Int, in pool: PostgresPool, now: Date? = nil
  ) async throws -> (token: String, certificate: FanCertificate) {
    let certificate = try await FanCertificate.issue(for: account, of: fan, in: pool, now: now)
    let token = try await keys.current(in: pool).sign(Claims(certificate, fan: fan), as: Self.type)
    try await Self.note(certificate, of: fan, in: pool)
    return (token, certificate)
  }

  /// Writes the event of a certificate, without the token, unless the fan's account was deleted meanwhile: nothing would
  /// erase it then.
  static func note(_ certificate: FanCertificate, of fan: Int, in pool: PostgresPool) async throws {
    try await pool.execute(
      """
      SELECT note_webhook_event('\(unescaped: WebhookEventType.certificateIssued.rawValue)', 'account/' || \(fan),
        jsonb_build_object('certificate', jsonb_build_object(
          'platform', \(certificate.platform.rawValue), 'account', \(certificate.account),
          'fan', jsonb_build_object('id', \(fan), 'username', \(certificate.username)),
          'since', webhook_time(\(certificate.since)), 'hearts', \(certificate.hearts), 'rank', \(certificate.rank),
          'fans', \(certificate.fans), 'issuedAt', webhook_time(\(certificate.issuedAt)))), id)
      FROM (SELECT id FROM accounts WHERE id = \(fan) FOR KEY SHARE) known
      WHERE \(WebhookEvents.isWanted(.certificateIssued))
      """)
  }

  /// Verifies a certificate that may have been signed by any version.
  ///
  /// - Throws: `malformed_certificate`; `forged_certificate`; `certificate_revoked` if the fan has removed the celeb
  ///   since, or the fan's account is deleted.
  public func check(_ token: String, in reader: some SocialReader) async throws -> Checked {
    // Certificates from versions before 0.1 have two parts.
    if token.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 1 {
      let certificate = try former.certificate(token)
      return Checked(
        certificate: certificate, fan: nil, name: certificate.username, title: certificate.account, thumbnail: nil)
    }
    return try await Self.checkSigned(token, in: reader)
  }

  /// A valid certificate, with the current names of its fan and celeb.
  public struct Checked: Sendable {
    public let certificate: FanCertificate
    /// The fan's id; nil for a certificate from before 0.1, which has no card and which only its server can check.
    public let fan: Int?
    public let name: String
    public let title: String
    /// The address of the celeb's picture.
    public let thumbnail: String?
  }

  /// Verifies a certificate that any holder of the public keys can check.
  public static func checkSigned(_ token: String, in reader: some SocialReader) async throws -> Checked {
    guard let signed = JSONWebSignature(token, limit: longest), let id = signed.keyID,
      !id.utf8.contains(0)
    else {
      throw CertificateKey.malformed
    }
    guard signed.algorithm == "EdDSA", signed.type == type,
      let key = try await SigningKeys.key(id, in: reader), key.isValid(signed.signature, for: signed.message)
    else { throw CertificateKey.forged }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let claims: Claims
    do { claims = try decoder.decode(Claims.self, from: Data(signed.payload)) } catch { throw CertificateKey.malformed }
    guard let (name, title, thumbnail) = try await claims.names(in: reader) else {
      throw SocialError(
        .certificateRevoked, "the certificate was revoked: its fan has removed the celeb or the account since")
    }
    return Checked(
      certificate: claims.certificate, fan: claims.fan, name: name, title: title, thumbnail: thumbnail)
  }

  /// The content of a certificate.
  private struct Claims: Codable {
    let platform: CelebPlatform
    let account: String
    /// The fan's id.
    let fan: Int
    let username: String
    let since: Date
    let hearts: Int
    let rank: Int
    let fans: Int
    let iat: Date

    init(_ certificate: FanCertificate, fan: Int) {
      platform = certificate.platform
      account = certificate.account
      self.fan = fan
      username = certificate.username
      since = certificate.since
      hearts = certificate.hearts
      rank = certificate.rank
      fans = certificate.fans
      iat = certificate.issuedAt
    }

    var certificate: FanCertificate {
      FanCertificate(
        platform: platform, account: account, username: username, since: since, hearts: hearts, rank: rank, fans: fans,
        issuedAt: iat)
    }

    /// The names of the fan and the celeb, and the celeb's picture; nil unless the fan has kept the celeb since then.
    func names(in reader: some SocialReader) async throws -> (String, String, String?)? {
      try await reader.rows(
        """
        SELECT coalesce(nullif(a.name, ''), a.username), \(unescaped: FanCeleb.title), k.thumbnail
        FROM celebs c JOIN celeb_fans f ON f.celeb_id = c.id JOIN accounts a ON a.id = f.account_id
          \(unescaped: FanCeleb.channel)
        WHERE c.platform = \(platform.rawValue) AND c.account = \(account) AND f.account_id = \(fan)
          AND date_trunc('second', f.since) = \(since) AND \(Visibility.isPublic("f.account_id"))
        """
      ).decode(String.self, String.self, String?.self).first
    }
  }
}
