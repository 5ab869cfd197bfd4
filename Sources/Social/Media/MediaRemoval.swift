import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Removes from the store what no picture is of any more, a hundred files a job.
///
/// The files are those that `media_removals` names: whatever deletes the last picture of a file writes it there. Removing
/// what is gone does nothing, so a job that comes twice does no harm.
public struct MediaRemoval: Job {
  public static let kind: JobKind = "media.remove"
  static let batch = 100

  public init() {}

  func run(_ store: (any MediaStore)?, _ context: JobContext<PostgresLedger>) async throws {
    guard let store else { throw NoMediaStore() }
    let files = try await context.ledger.database.pool.query(
      "SELECT file_id FROM media_removals ORDER BY removed_at LIMIT \(Self.batch)"
    ).decode(String.self)
    if files.isEmpty { return }
    try await store.remove(files.flatMap { MediaFile(id: $0).keys })
    try await context.transaction { transaction in
      try await transaction.sql.execute("DELETE FROM media_removals WHERE file_id = ANY (\(files))")
      if files.count == Self.batch { try await transaction.enqueue(MediaRemoval()) }
    }
  }
}

/// A process that was given no store was asked to change it.
struct NoMediaStore: Error, CustomStringConvertible {
  let description = "this worker was started without a store of pictures (FANMILL_MEDIA_DIR or FANMILL_MEDIA_URL)"
}
