import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging

/// Makes the archive of an account and stores it.
///
/// The file is stored at least once. One that no export names, after a kill, is removed within a day as an orphan.
public struct AccountExport: Job {
  public static let kind: JobKind = "accounts.export"
  public static let queue = SocialJobs.bulkQueue
  /// A large account has gigabytes of pictures.
  public static let timeout: Duration? = .seconds(3600)

  public var export: Int

  public init(export: Int) { self.export = export }

  func run(_ store: (any MediaStore)?, _ context: JobContext<PostgresLedger>) async throws {
    guard let store else { throw NoMediaStore() }
    let pool = context.ledger.database.pool
    let accounts = try await pool.query(
      """
      SELECT e.account_id FROM account_exports e JOIN accounts a ON a.id = e.account_id
      WHERE e.id = \(export) AND e.expires_at IS NULL
      """
    ).decode(Int.self)
    guard let account = accounts.first else { return }
    ArchiveFolder.removeLeftovers()
    let folder = try ArchiveFolder()
    defer { folder.remove() }
    let path = "\(folder.path)/account.zip"
    do {
      let bytes = try await AccountArchive(of: account, store: store).write(to: path, on: pool, now: JobClock.now)
      let file = MediaFile()
      try await store.put(path, at: file.archive, contentType: "application/zip")
      let isKept = try await context.transaction { transaction in
        try await end("file_id = \(file.id), bytes = \(bytes)", in: transaction)
      }
      // The account was deleted meanwhile, or another job was faster.
      if !isKept { try await store.remove([file.archive]) }
    } catch let error as ArchiveError where error.code == .tooLarge {
      context.logger.notice("could not export an account", metadata: ["account": "\(account)", "reason": "\(error)"])
      _ = try await context.transaction { try await end("failure = \(error.message)", in: $0) }
    } catch let error as SocialError where error.code == .notFound {
      // The account was deleted; its removal deletes the export.
    }
  }

  /// Ends the export, and enqueues the mail about it.
  ///
  /// - Returns: false if it is gone.
  private func end(_ outcome: PostgresQuery, in transaction: AppTransaction) async throws -> Bool {
    let ended = try await transaction.sql.execute(
      """
      UPDATE account_exports SET \(outcome), expires_at = now() + make_interval(days => \(AccountExports.days))
      WHERE id = \(export) AND expires_at IS NULL AND EXISTS (SELECT FROM accounts a WHERE a.id = account_id)
      """)
    if ended == 1 { try await transaction.enqueue(AccountExportMail(export: export)) }
    return ended == 1
  }
}
