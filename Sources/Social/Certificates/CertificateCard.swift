import Cryptography
import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging

/// Draws the card of a certificate. Cards are kept for a day.
public struct CertificateCard: Job {
  public static let kind: JobKind = "certificates.card"
  public static let queue = SocialJobs.pictureQueue
  public static let timeout: Duration? = .seconds(120)

  public var token: String

  public init(token: String) { self.token = token }

  /// The file formats of a card.
  public enum Form: String, Sendable, CaseIterable {
    case svg
    case png

    public var contentType: String {
      switch self {
      case .svg: "image/svg+xml"
      case .png: "image/png"
      }
    }
  }

  /// A stored card. If none exists, enqueues a job that draws it.
  ///
  /// - Parameter token: of a verified certificate.
  /// - Returns: nil while the card is being drawn.
  public static func file<B: Broker>(
    _ form: Form, of token: String, by jobs: JobClient<B, PostgresLedger>, in pool: PostgresPool
  ) async throws -> [UInt8]? {
    let hash = SHA256.hash(of: token.utf8)
    let rows = try await pool.query(
      """
      SELECT CASE WHEN \(form == .svg) THEN convert_to(svg, 'UTF8') ELSE png END FROM certificate_cards
      WHERE token_hash = \(hash)
      """)
    if let file = try rows.decode([UInt8].self).first { return file }
    let options = JobOptions(uniqueKey: "card:" + hash.hexadecimal)
    _ = try await jobs.enqueue(CertificateCard(token: token), options: options)
    return nil
  }

  func run(_ studio: CardStudio?, _ context: JobContext<PostgresLedger>) async throws {
    guard let studio else { throw NoCardStudio() }
    let pool = context.ledger.database.pool
    let checked: FanCertificates.Checked
    do {
      checked = try await FanCertificates.checkSigned(token, in: pool)
    } catch let refusal as SocialError {
      context.logger.notice("cannot draw a card", metadata: ["reason": "\(refusal.message)"])
      return
    }
    let (svg, png) = try await studio.draw(checked, token: token)
    try await context.transaction { transaction in
      try await transaction.sql.execute(
        """
        INSERT INTO certificate_cards (token_hash, account_id, svg, png)
        SELECT \(SHA256.hash(of: token.utf8)), id, \(svg), \(png) FROM accounts WHERE id = \(checked.fan)
        FOR KEY SHARE
        ON CONFLICT (token_hash) DO UPDATE SET svg = excluded.svg, png = excluded.png, made_at = now()
        """)
    }
  }

  /// A worker without drawing programs received a card job.
  private struct NoCardStudio: Error, CustomStringConvertible {
    let description = "this worker cannot draw cards: it was started without a card studio"
  }
}
