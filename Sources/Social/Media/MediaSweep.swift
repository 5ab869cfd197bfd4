import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Deletes pictures that were shown nowhere for a day, a thousand per job, as well as expired upload tokens,
/// expired exports of accounts, and certificate cards older than a day.
public struct MediaSweep: Job {
  public static let kind: JobKind = "media.sweep"
  static let batch = 1000

  public init() {}

  func run(in transaction: AppTransaction) async throws {
    let unused = try await transaction.sql.query(
      """
      SELECT id FROM media WHERE unused_since < now() - interval '1 day' ORDER BY unused_since LIMIT \(Self.batch)
      """
    ).decode(String.self)
    try await MediaLibrary.lockFiles(of: unused, in: transaction.sql)
    try await MediaLibrary.lockQuotas(of: "id = ANY (\(unused))", in: transaction.sql)
    // A picture that another transaction is about to show is left for the next sweep.
    try await transaction.sql.execute(
      """
      DELETE FROM media WHERE id IN (
        SELECT id FROM media WHERE id = ANY (\(unused)) AND unused_since < now() - interval '1 day'
        FOR UPDATE SKIP LOCKED)
      """)
    let expired = try await transaction.sql.execute(
      """
      DELETE FROM upload_tokens WHERE hash = ANY (ARRAY(
        SELECT hash FROM upload_tokens WHERE expires_at < now() LIMIT \(Self.batch)))
      """)
    let old = try await transaction.sql.execute(
      """
      DELETE FROM certificate_cards WHERE token_hash = ANY (ARRAY(
        SELECT token_hash FROM certificate_cards WHERE made_at < now() - interval '1 day' LIMIT \(Self.batch)))
      """)
    let exports = try await AccountExports.sweep(upTo: Self.batch, in: transaction.sql)
    let isMoreLeft = [unused.count, expired, old, exports].contains(Self.batch)
    if isMoreLeft { try await transaction.enqueue(self) }
    let hasRemovals = try await transaction.sql.query("SELECT EXISTS (SELECT FROM media_removals)")[0]
      .decode(Bool.self)
    if hasRemovals { try await transaction.enqueue(MediaRemoval()) }
  }
}
