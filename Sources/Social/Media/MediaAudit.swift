import LibPQClient

/// Checks the counts of pictures, and whether the store holds exactly their objects.
///
/// The counts are compared in one snapshot. The store has no snapshots, so differences there are checked again, and
/// whatever appeared or disappeared meanwhile does not count.
public struct MediaAudit: Sendable {
  /// Pictures, files and accounts whose counts were compared.
  public internal(set) var compared = 0
  /// Those whose counts are wrong.
  public internal(set) var miscounted = 0
  /// Objects that files need.
  public internal(set) var expected = 0
  /// Objects that the store lacks.
  public internal(set) var missing: [MediaKey] = []
  /// Objects that belong to no file. Those of uploads in progress are included.
  public internal(set) var orphaned: [StoredObject] = []
  /// Files whose sizes are being made, or whose objects are being removed.
  public internal(set) var pending = 0

  /// Whether nothing is wrong except what pending jobs will fix.
  public var isExact: Bool { miscounted == 0 && missing.isEmpty }

  private static let page = 1000

  /// - Parameter store: nil to compare only the counts.
  public static func run(_ store: (any MediaStore)?, on pool: PostgresPool) async throws -> MediaAudit {
    var audit = MediaAudit()
    try await audit.count(on: pool)
    guard let store else { return audit }
    try await audit.compare(store, on: pool)
    if !audit.missing.isEmpty {
      // A file may have appeared or disappeared while the store was listed.
      var again = MediaAudit()
      try await again.compare(store, on: pool)
      audit.missing = again.missing.filter(Set(audit.missing).contains)
    }
    return audit
  }

  private mutating func count(on pool: PostgresPool) async throws {
    let row = try await pool.query(
      """
      WITH shown AS (
        SELECT id, count(*) AS uses FROM (
          SELECT unnest(media) AS id FROM posts WHERE media <> '{}'
          UNION ALL SELECT avatar_media FROM accounts WHERE avatar_media IS NOT NULL
        ) every GROUP BY id
      ), uses AS (
        SELECT m.uses IS DISTINCT FROM coalesce(s.uses, 0) AS wrong FROM media m FULL JOIN shown s ON s.id = m.id
      ), files AS (
        SELECT f.owners <> (SELECT count(*) FROM media m WHERE m.file_id = f.id) AS wrong FROM media_files f
      ), owned AS (
        SELECT m.owner_id, sum(f.bytes) AS bytes, count(*) AS files FROM media m JOIN media_files f ON f.id = m.file_id
        WHERE m.owner_id IS NOT NULL GROUP BY m.owner_id
      ), quotas AS (
        SELECT (coalesce(q.bytes, 0), coalesce(q.files, 0)) <> (coalesce(o.bytes, 0), coalesce(o.files, 0)) AS wrong
        FROM media_quotas q FULL JOIN owned o ON o.owner_id = q.account_id
      ), every AS (TABLE uses UNION ALL TABLE files UNION ALL TABLE quotas)
      SELECT count(*), count(*) FILTER (WHERE wrong),
        (SELECT count(*) FROM media_files WHERE NOT ready) + (SELECT count(*) FROM media_removals) FROM every
      """)[0]
    (compared, miscounted, pending) = try row.decode(Int.self, Int.self, Int.self)
  }

  /// Walks files and objects in parallel, both in the order of the files' ids.
  private mutating func compare(_ store: any MediaStore, on pool: PostgresPool) async throws {
    var objects = StoredObjects(store)
    var last = ""
    while true {
      let files = try await pool.query(
        "SELECT id, ready FROM media_files WHERE id > \(last) ORDER BY id LIMIT \(Self.page)"
      ).decode(String.self, Bool.self)
      let found = try await objects.next(upTo: files.last?.0)
      orphaned += try await MediaOrphans.orphans(among: found, in: pool)
      guard let end = files.last else { return }
      let keys = Set(found.map(\.key))
      for (id, ready) in files {
        let file = MediaFile(id: id)
        let needed = ready ? file.keys : [file.original]
        expected += needed.count
        missing += needed.filter { !keys.contains($0) }
      }
      last = end.0
    }
  }
}
