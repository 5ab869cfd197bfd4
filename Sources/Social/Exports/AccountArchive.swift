import Foundation
import Glibc
import LibPQClient

/// Writes all that an account has into a zip file: JSON of what it wrote and received, and its pictures as they were
/// uploaded.
///
/// The JSON is of one snapshot of the database, read in pieces, so that memory does not grow with the account. File
/// calls block: run it in a job or a command.
public struct AccountArchive: Sendable {
  private let account: Int
  private let store: any MediaStore

  public init(of account: Int, store: any MediaStore) {
    self.account = account
    self.store = store
  }

  private struct Picture: Sendable {
    let id: String
    let file: MediaFile
    let fileExtension: String
  }

  private static let page = 500
  private static let timeout = Duration.seconds(600)

  /// Writes the archive.
  ///
  /// - Parameter path: of a file that does not exist. A partial file is removed if this throws.
  /// - Returns: its size, in bytes.
  /// - Throws: `ArchiveError`; `not_found` for a deleted account; `MediaStoreError`, `PostgresError`.
  public func write(to path: String, on pool: PostgresPool, now: Date = Date.now) async throws -> Int {
    let zip = try ZipWriter(path: path, at: now)
    do {
      let pictures = try await writeData(into: zip, on: pool)
      try await write(pictures, into: zip)
      return try zip.finish()
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Writes the JSON, and returns the pictures to add.
  private func writeData(into zip: ZipWriter, on pool: PostgresPool) async throws -> [Picture] {
    try await pool.transaction(.snapshot) { transaction in
      let known = try await transaction.query("SELECT id FROM accounts WHERE id = \(account)")
      guard !known.isEmpty else { throw SocialError.notFound("account") }
      // A cursor's statement takes no parameters.
      try await transaction.execute("SELECT set_config('fanmill.export', \(String(account)), true)")
      for part in AccountArchiveParts.all {
        try Task.checkCancellation()
        try await Self.write(part, into: zip, in: transaction)
      }
      return try await pictures(in: transaction)
    }
  }

  /// Writes the items of a part as a JSON array with one item on a line.
  private static func write(
    _ part: AccountArchiveParts.Part, into zip: ZipWriter, in transaction: PostgresTransaction
  ) async throws {
    try zip.begin(part.name)
    try zip.write(Array("[".utf8))
    try await transaction.execute(
      "DECLARE exported NO SCROLL CURSOR FOR SELECT to_json(item)::text FROM (\(unescaped: part.sql)) item",
      timeout: timeout)
    var isFirst = true
    while true {
      let items = try await transaction.query("FETCH \(unescaped: String(page)) FROM exported", timeout: timeout)
        .decode(String.self)
      for item in items {
        try zip.write(Array((isFirst ? "\n" : ",\n").utf8) + Array(item.utf8))
        isFirst = false
      }
      if items.count < page { break }
    }
    try await transaction.execute("CLOSE exported")
    try zip.write(Array("\n]\n".utf8))
    try zip.end()
  }

  /// The pictures whose bytes are handed out. One that was taken down is served to nobody.
  private func pictures(in transaction: PostgresTransaction) async throws -> [Picture] {
    let rows = try await transaction.query(
      """
      SELECT m.id, f.id, f.content_type FROM media m JOIN media_files f ON f.id = m.file_id
      WHERE m.owner_id = \(account) AND m.taken_down_at IS NULL ORDER BY m.created_at, m.id
      """, timeout: Self.timeout
    ).decode(String.self, String.self, String.self)
    return rows.map { id, file, type in
      let format = PictureFormat.allCases.first { $0.contentType == type }
      return Picture(id: id, file: MediaFile(id: file), fileExtension: format?.fileExtension ?? "bin")
    }
  }

  /// Adds the originals. One that was removed since the snapshot is left out.
  private func write(_ pictures: [Picture], into zip: ZipWriter) async throws {
    if pictures.isEmpty { return }
    let folder = try ArchiveFolder()
    defer { folder.remove() }
    let local = "\(folder.path)/picture"
    for picture in pictures {
      try Task.checkCancellation()
      do {
        try await store.fetch(picture.file.original, to: local)
      } catch let error as MediaStoreError where error.code == .missing {
        continue
      }
      defer { unlink(local) }
      guard try zip.add("pictures/\(picture.id).\(picture.fileExtension)", from: local) else {
        throw ArchiveError(.unwritable, "cannot read \(local): \(String(cString: strerror(errno)))")
      }
    }
  }
}
