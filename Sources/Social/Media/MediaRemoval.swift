import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Removes files that no picture uses anymore, and expired exports, from the store, a hundred files per job.
///
/// `media_removals` names the files: deleting the last picture of a file adds it there. Removing a missing object does
/// nothing, so running a job twice is harmless.
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
    try await store.remove(files.flatMap { MediaFile(id: $0).keys + [MediaFile(id: $0).archive] })
    try await context.transaction { transaction in
      try await transaction.sql.execute("DELETE FROM media_removals WHERE file_id = ANY (\(files))")
      if files.count == Self.batch { try await transaction.enqueue(MediaRemoval()) }
    }
  }
}

/// A process without a store received a job that changes it.
struct NoMediaStore: Error, CustomStringConvertible {
  let description = "this worker was started without a picture store (FANMILL_MEDIA_DIR or FANMILL_MEDIA_URL)"
}
