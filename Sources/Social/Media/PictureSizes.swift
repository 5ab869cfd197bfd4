import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging

/// Makes the sizes of an uploaded picture in a confined process, and stores them.
///
/// A picture that cannot be decoded fails with a reason, and its bytes are deleted. Objects are stored at least once,
/// under names that belong only to these bytes.
public struct PictureSizes: Job {
  public static let kind: JobKind = "media.sizes"
  public static let queue = SocialJobs.pictureQueue
  public static let timeout: Duration? = .seconds(120)

  public var file: String

  func run(_ studio: PictureStudio?, _ context: JobContext<PostgresLedger>) async throws {
    guard let studio else { throw NoPictureStudio() }
    let file = MediaFile(id: file)
    let pool = context.ledger.database.pool
    let rows = try await pool.query("SELECT NOT ready FROM media_files WHERE id = \(file.id)").decode(Bool.self)
    guard let isWanted = rows.first else {
      return try await context.transaction { try await Self.forget(file, in: $0) }
    }
    guard isWanted else { return }
    do {
      let made = try await studio.make(file)
      try await end(file, context) { try await Self.record(made, of: file, in: $0) }
    } catch let refusal as PictureRefusal {
      context.logger.notice("could not process a picture", metadata: ["file": "\(file.id)", "reason": "\(refusal)"])
      try await end(file, context) { try await Self.fail(file, refusal.message, in: $0) }
    }
  }

  /// Ends the job with `body`, after locking the owners of the file's pictures and then the file, so that none of their
  /// posts changes concurrently, or after it was read.
  private func end(
    _ file: MediaFile, _ context: JobContext<PostgresLedger>,
    _ body: @Sendable (AppTransaction) async throws -> Void
  ) async throws {
    while true {
      do {
        return try await context.transaction { transaction in
          try await MediaLibrary.lock(file, in: transaction.sql)
          try await body(transaction)
        }
      } catch is MediaLibrary.OwnerCame {
        // Retry, including the new owner.
      }
    }
  }

  static func record(_ made: MadePictures, of file: MediaFile, in transaction: AppTransaction) async throws {
    let before = try await transaction.sql.query(
      "SELECT width, height FROM media_files WHERE id = \(file.id)"
    ).decode(Int32.self, Int32.self)
    guard let before = before.first else { return try await forget(file, in: transaction) }
    let (width, height) = made.upright(before)
    try await transaction.sql.execute(
      """
      UPDATE media_files SET ready = true, stored_bytes = bytes + \(made.bytes), width = \(width), height = \(height)
      WHERE id = \(file.id)
      """)
    if before != (width, height) { try await correct(file, width, height, in: transaction.sql) }
  }

  /// Posts store the dimensions of the pictures they show, and the decoder's are authoritative.
  private static func correct(_ file: MediaFile, _ width: Int32, _ height: Int32, in sql: PostgresTransaction)
    async throws
  {
    try await sql.execute(
      """
      UPDATE posts p SET media_dimensions = (
        SELECT array_agg(CASE WHEN p.media[(n + 1) / 2] = ANY (shown.media)
          THEN CASE n % 2 WHEN 1 THEN \(width) ELSE \(height) END ELSE kept END ORDER BY n)
        FROM unnest(p.media_dimensions) WITH ORDINALITY AS dimensions (kept, n))
      FROM (
        SELECT owner_id, array_agg(id) AS media FROM media WHERE file_id = \(file.id) AND uses > 0 GROUP BY owner_id
      ) shown
      WHERE p.author_id = shown.owner_id AND p.media && shown.media
      """)
  }

  static func fail(_ file: MediaFile, _ reason: String, in transaction: AppTransaction) async throws {
    // Sign-ups and sweeps lock pictures without an owner's lock, in the same order.
    try await transaction.sql.execute("SELECT FROM media WHERE file_id = \(file.id) ORDER BY id FOR UPDATE")
    try await MediaLibrary.lockQuotas(of: "file_id = \(file.id)", in: transaction.sql)
    let failed = try await transaction.sql.query(
      """
      WITH failed AS (
        UPDATE media SET file_id = NULL, failure = \(reason) WHERE file_id = \(file.id) RETURNING id, owner_id, failure
      ), \(WebhookEvents.hooked(
        .pictureFailed, about: "'picture/' || id",
        "jsonb_build_object('picture', jsonb_build_object('id', id, 'owner', \(WebhookEvents.bare("owner_id")), "
          + "'reason', failure))",
        from: "failed"))
      SELECT \(WebhookEvents.isHooked) FROM failed
      """
    ).decode(Bool.self)
    try await WebhookEvents.dispatch(failed.contains(true), in: transaction)
    try await transaction.enqueue(MediaRemoval())
  }

  /// The picture was deleted while its sizes were made, so what was stored is deleted too.
  private static func forget(_ file: MediaFile, in transaction: AppTransaction) async throws {
    try await transaction.sql.execute(
      "INSERT INTO media_removals (file_id) VALUES (\(file.id)) ON CONFLICT DO NOTHING")
    try await transaction.enqueue(MediaRemoval())
  }
}

/// A process that makes no pictures received a picture job.
struct NoPictureStudio: Error, CustomStringConvertible {
  let description = """
    this worker cannot process pictures: it found no `vips` (Debian's libvips-tools) when it started; a worker that \
    has it must serve the queue 'pictures'
    """
}
