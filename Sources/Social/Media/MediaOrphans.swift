import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging

/// Removes objects that belong to no file from the store: uploads whose process was killed before their transaction.
/// Handles one page of the store per job.
public struct MediaOrphans: Job {
  public static let kind: JobKind = "media.orphans"
  /// Younger objects may belong to a transaction that is still open.
  public static let age: TimeInterval = 86_400

  /// The last key of the previous page; nil for the first page.
  public var after: String?

  public init(after: String? = nil) { self.after = after }

  func run(_ store: (any MediaStore)?, _ context: JobContext<PostgresLedger>) async throws {
    guard let store else { throw NoMediaStore() }
    let page = try await store.objects(after: after.flatMap(MediaKey.init))
    let orphans = try await Self.orphans(among: page, in: context.ledger.database.pool)
    let old = orphans.filter { JobClock.now.timeIntervalSince($0.modified) > Self.age }
    try await store.remove(old.map(\.key))
    if !old.isEmpty {
      context.logger.notice("removed orphaned objects", metadata: ["objects": "\(old.count)"])
    }
    guard let last = page.last else { return }
    try await context.transaction { try await $0.enqueue(MediaOrphans(after: last.key.description)) }
  }

  /// The objects that belong to no file, excluding those already scheduled for removal.
  static func orphans(among objects: [StoredObject], in reader: some SocialReader) async throws -> [StoredObject] {
    let files = Set(objects.map(\.key.file))
    let known = try await reader.rows(
      """
      SELECT id FROM media_files WHERE id = ANY (\(Array(files)))
      UNION ALL SELECT file_id FROM media_removals WHERE file_id = ANY (\(Array(files)))
      UNION ALL SELECT file_id FROM account_exports WHERE file_id = ANY (\(Array(files)))
      """
    ).decode(String.self)
    let unknown = files.subtracting(known)
    return objects.filter { unknown.contains($0.key.file) }
  }
}
