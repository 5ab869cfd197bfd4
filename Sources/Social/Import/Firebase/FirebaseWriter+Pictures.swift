import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

extension FirebaseWriter {
  /// A picture that waits to be read.
  struct StagedPicture: Sendable {
    let id: Int
    let owner: Int
    let post: Int?
    let path: String
    let source: String
  }

  /// The next pictures that wait, in the order in which posts show them.
  func pictures(after id: Int, limit: Int, in pool: PostgresPool) async throws -> [StagedPicture] {
    try await pool.query(
      """
      SELECT id, owner_id, post_id, path, source FROM import_pictures WHERE id > \(id) ORDER BY id LIMIT \(limit)
      """, timeout: Self.timeout
    ).decode(Int.self, Int.self, Int?.self, String.self, String.self).map { row in
      StagedPicture(id: row.0, owner: row.1, post: row.2, path: row.3, source: row.4)
    }
  }

  func picturesCount(in pool: PostgresPool) async throws -> Int {
    try await pool.query("SELECT count(*) FROM import_pictures")[0].decode(Int.self)
  }

  /// Takes a picture like an upload of its owner, and shows it where it was shown. Its sizes are made by the app's job.
  func write(_ picture: StagedPicture, from folder: String, to store: any MediaStore, in pool: PostgresPool)
    async throws
  {
    guard case .path(let path) = StoragePath.read(picture.path) else {
      throw RecordProblem(description: "is not a path in the storage")
    }
    let copy = try StoredPicture(path, in: folder)
    let upload = copy.upload
    let file = MediaFile()
    let isNew = try await MediaLibrary.file(hash: upload.hash, in: pool) == nil
    if isNew { try await store.put(copy.path, at: file.original, contentType: upload.header.format.contentType) }
    do {
      _ = try await transact { transaction in
        var outcome = FirebaseOutcome()
        let sql = transaction.sql
        // The row goes with the picture's coming: a run after a kill neither repeats nor forgets it.
        guard try await sql.execute("DELETE FROM import_pictures WHERE id = \(picture.id)") == 1 else { return outcome }
        // A quota limits what clients upload; what an account had, it keeps.
        let media = try await MediaLibrary.add(
          upload, stored: file, by: picture.owner, quota: 1 << 60, in: transaction)
        try await Self.show(media, of: picture, in: sql)
        outcome.added = 1
        return outcome
      }
    } catch let error as SocialError where error.code == .notFound {
      // No later run can show it either.
      try await pool.execute("DELETE FROM import_pictures WHERE id = \(picture.id)")
      throw RecordProblem(description: "belongs to a user who was deleted since")
    }
    // Other pictures may have the same bytes. After an error a file without an owner is removed within a day.
    if isNew, try await MediaLibrary.file(hash: upload.hash, in: pool) != file {
      try await store.remove([file.original])
    }
    withExtendedLifetime(copy) {}
  }

  private static func show(_ media: Media, of picture: StagedPicture, in sql: PostgresTransaction) async throws {
    let dimensions = [Int32(clamping: media.width), Int32(clamping: media.height)]
    if let post = picture.post {
      try await sql.execute(
        """
        UPDATE posts SET media = media || \([media.id.text]), media_dimensions = media_dimensions || \(dimensions)
        WHERE id = \(post) AND author_id = \(picture.owner) AND cardinality(media) < \(Int32(MediaReference.maxPerPost))
        """)
    } else {
      try await sql.execute(
        "UPDATE accounts SET avatar_media = \(media.id.text) WHERE id = \(picture.owner) AND avatar_media IS NULL")
    }
  }
}
