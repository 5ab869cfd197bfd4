import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// The pictures that accounts own.
public enum MediaLibrary {
  /// The file with the bytes of `hash`, if one exists.
  public static func file(hash: [UInt8], in reader: some SocialReader) async throws -> MediaFile? {
    try await reader.rows("SELECT id FROM media_files WHERE hash = \(hash)").decode(String.self).first
      .map(MediaFile.init)
  }

  /// Adds a picture to those of `owner`, and enqueues making its sizes if these bytes are new.
  ///
  /// - Parameters:
  ///   - file: the location of the bytes in the store; unused if the same bytes are stored already.
  ///   - owner: nil for a client without an account.
  ///   - quota: how many bytes an account may own.
  /// - Throws: `media_quota`.
  public static func add(
    _ upload: MediaUpload, stored file: MediaFile, by owner: Int?, quota: Int, in transaction: AppTransaction
  ) async throws -> Media {
    if let owner { try await transaction.sql.execute(lock(owner)) }
    // Locks the row until commit: another transaction could remove the file before this picture counts.
    let kept = try await transaction.sql.query(
      """
      INSERT INTO media_files (id, hash, content_type, bytes, width, height)
      VALUES (\(file.id), \(upload.hash), \(upload.header.format.contentType), \(upload.bytes),
        \(Int32(clamping: upload.header.width)), \(Int32(clamping: upload.header.height)))
      ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash RETURNING id
      """)[0].decode(String.self)
    let id = MediaID()
    let added = try await transaction.sql.execute(
      """
      INSERT INTO media (id, owner_id, file_id) SELECT \(id.text), \(owner), \(kept)
      WHERE \(owner == nil) OR EXISTS (SELECT FROM accounts WHERE id = \(owner))
      """)
    guard added == 1 else { throw SocialError.notFound("account") }
    if let owner {
      let owned = try await transaction.sql.query(
        "SELECT bytes FROM media_quotas WHERE account_id = \(owner)")[0].decode(Int.self)
      guard owned <= quota else {
        throw SocialError(
          .mediaQuota,
          "your pictures may take up \(quota / 1_000_000) MB in total, and this one exceeds what is left: delete some"
        )
      }
    }
    if kept == file.id { try await transaction.enqueue(PictureSizes(file: kept)) }
    return try await media(id, in: transaction.sql)
  }

  /// - Throws: `not_found`.
  public static func media(_ id: MediaID, in reader: some SocialReader) async throws -> Media {
    let rows = try await reader.rows("SELECT \(unescaped: columns) FROM \(unescaped: tables) WHERE m.id = \(id.text)")
    guard let row = rows.first else { throw SocialError.notFound("picture") }
    return try media(row)
  }

  /// An owner's picture.
  ///
  /// - Throws: `not_found`, also for pictures of other accounts, so that a caller cannot learn which ids exist.
  public static func media(_ id: MediaID, of owner: Int, in reader: some SocialReader) async throws -> Media {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: columns) FROM \(unescaped: tables) WHERE m.id = \(id.text) AND m.owner_id = \(owner)
      """)
    guard let row = rows.first else { throw SocialError.notFound("picture") }
    return try media(row)
  }

  /// Deletes an owner's picture that is shown nowhere.
  ///
  /// - Throws: `not_found`, `media_in_use`.
  public static func delete(_ id: MediaID, of owner: Int, in transaction: AppTransaction) async throws {
    try await transaction.sql.execute(lock(owner))
    try await lockFiles(of: [id.text], in: transaction.sql)
    let uses = try await transaction.sql.query(
      "SELECT uses FROM media WHERE id = \(id.text) AND owner_id = \(owner) FOR UPDATE"
    ).decode(Int32.self)
    guard let uses = uses.first else { throw SocialError.notFound("picture") }
    guard uses == 0 else {
      throw SocialError(.mediaInUse, "the picture is shown in a post or on your profile: remove it there first")
    }
    try await transaction.sql.execute("DELETE FROM media WHERE id = \(id.text)")
    try await transaction.enqueue(MediaRemoval())
  }

  /// Removes a picture from the posts and the profile that show it, and from its owner.
  ///
  /// - Throws: `not_found`; `busy` if a concurrent sign-up claims it.
  public static func withdraw(_ id: MediaID, in transaction: AppTransaction) async throws {
    let sql = transaction.sql
    let found = try await sql.query("SELECT owner_id FROM media WHERE id = \(id.text)").decode(Int?.self)
    let known = found.first ?? nil
    if let known { try await sql.execute(lock(known)) }
    try await lockFiles(of: [id.text], in: sql)
    let owners = try await sql.query("SELECT owner_id FROM media WHERE id = \(id.text) FOR UPDATE").decode(Int?.self)
    guard let owner = owners.first else { throw SocialError.notFound("picture") }
    // Its posts may only be changed under its owner's lock.
    guard owner == known else {
      throw SocialError(.busy, "a sign-up just claimed the picture: try again")
    }
    try await sql.execute(
      """
      UPDATE posts SET media = array_remove(media, \(id.text)),
        media_dimensions = media_dimensions[:2 * array_position(media, \(id.text)) - 2]
          || media_dimensions[2 * array_position(media, \(id.text)) + 1:]
      WHERE author_id = \(owner) AND media @> ARRAY[\(id.text)]
      """)
    try await sql.execute(
      "UPDATE accounts SET avatar_media = NULL WHERE id = \(owner) AND avatar_media = \(id.text)")
    try await sql.execute("DELETE FROM media WHERE id = \(id.text)")
    try await transaction.enqueue(MediaRemoval())
  }

  /// Gives a picture uploaded with an upload token to the account being opened.
  ///
  /// - Throws: `invalid_avatar` if it does not exist, or already has an owner.
  static func claim(_ id: MediaID, by owner: Int, in transaction: PostgresTransaction) async throws {
    try await lockFiles(of: [id.text], in: transaction)
    let claimed = try await transaction.execute(
      "UPDATE media SET owner_id = \(owner) WHERE id = \(id.text) AND owner_id IS NULL AND failure IS NULL")
    guard claimed == 1 else {
      throw SocialError.invalid("avatar", "names no picture that was uploaded for this sign-up")
    }
  }

  /// The file of a visible picture, and whether its sizes exist.
  ///
  /// - Throws: `not_found`, `media_gone`.
  public static func source(of id: MediaID, in reader: some SocialReader) async throws -> (file: MediaFile, ready: Bool)
  {
    let rows = try await reader.rows(
      """
      SELECT CASE WHEN m.taken_down_at IS NULL THEN m.file_id END, coalesce(f.ready, false),
        CASE WHEN m.taken_down_at IS NULL THEN m.failure ELSE 'it was taken down' END
      FROM media m LEFT JOIN media_files f ON f.id = m.file_id
      WHERE m.id = \(id.text) AND (m.owner_id IS NULL OR \(Visibility.isPublic("m.owner_id")))
      """)
    guard let row = rows.first else { throw SocialError.notFound("picture") }
    let (file, ready, failure) = try row.decode(String?.self, Bool.self, String?.self)
    guard let file else {
      throw SocialError(.mediaGone, "the picture is no longer available: \(failure ?? "its bytes could not be read")")
    }
    return (MediaFile(id: file), ready)
  }

  /// Serializes changes to an owner's pictures and to what shows them: a post locks itself before its pictures, and
  /// withdrawing a picture locks it before its posts. Take this lock before any other.
  static func lock(_ owner: Int) -> PostgresQuery { "SELECT pg_advisory_xact_lock((5::bigint << 60) | \(owner))" }

  /// A file's picture got another owner while the known owners were being locked.
  struct OwnerCame: Error {}

  /// Locks the owners of a file's pictures as `lock` does, then the file.
  ///
  /// - Throws: `OwnerCame`.
  static func lock(_ file: MediaFile, in transaction: PostgresTransaction) async throws {
    let owners: PostgresQuery = """
      SELECT DISTINCT owner_id FROM media WHERE file_id = \(file.id) AND owner_id IS NOT NULL ORDER BY owner_id
      """
    let known = try await transaction.query(
      "SELECT owner_id FROM (\(owners)) owners WHERE pg_advisory_xact_lock((5::bigint << 60) | owner_id) IS NOT NULL"
    ).decode(Int.self)
    try await transaction.execute("SELECT FROM media_files WHERE id = \(file.id) FOR UPDATE")
    let all = try await transaction.query(owners).decode(Int.self)
    guard Set(known).isSuperset(of: all) else { throw OwnerCame() }
  }

  /// Locks the quotas of several owners, always in the same order, before their pictures change or are deleted.
  ///
  /// - Parameter condition: selects the rows of `media`.
  static func lockQuotas(of condition: PostgresQuery, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      """
      SELECT FROM media_quotas WHERE account_id IN (SELECT owner_id FROM media WHERE \(condition))
      ORDER BY account_id FOR UPDATE
      """)
  }

  /// Locks the files of pictures before the pictures change or are deleted. A transaction that changes both a file and
  /// its pictures locks the file first, so that no two deadlock.
  static func lockFiles(of media: [String], in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      """
      SELECT FROM media_files WHERE id IN (SELECT file_id FROM media WHERE id = ANY (\(media))) ORDER BY id FOR UPDATE
      """)
  }

  static let columns = """
    m.id, m.failure, m.created_at, f.ready, coalesce(f.width, 0), coalesce(f.height, 0), coalesce(f.bytes, 0)
    """
  static let tables = "media m LEFT JOIN media_files f ON f.id = m.file_id"

  static func media(_ row: PostgresRow) throws -> Media {
    guard let id = MediaID(try String(postgres: row[0])) else {
      throw PostgresError(.decoding, "a picture's id is none")
    }
    let failure = try String?(postgres: row[1])
    return Media(
      id: id, state: failure != nil ? .failed : try Bool(postgres: row[3]) ? .ready : .waiting,
      width: Int(try Int32(postgres: row[4])), height: Int(try Int32(postgres: row[5])),
      bytes: try Int(postgres: row[6]), failure: failure, createdAt: try Date(postgres: row[2]))
  }
}
