import Foundation
import LibPQClient

/// Imports an app's users and what they made from Firebase's exports.
///
/// Files are read record by record, so memory does not grow with them. A batch of records and the note that they were
/// taken commit together: an import that is killed goes on where it stopped when it is run again, and a repeated one
/// adds nothing. Wrong records are kept in a file and do not stop the others.
///
/// `docs/moving-from-firebase.md` describes the shapes of the files.
public struct FirebaseImport: Sendable {
  /// The export of Firebase Auth; nil for none.
  public var auth: String?
  /// The exports of Firestore and of the Realtime Database; nil for none. Both are searched for all kinds of records.
  public var firestore: String?
  public var database: String?
  /// The folder with the files of the storage; nil to leave pictures for a later run.
  public var storage: String?
  /// A file with the project's password hash parameters; nil to leave the passwords, whose owners then choose new ones.
  public var hashConfig: String?
  /// Whether to reject users with passwords while there is no `hashConfig`, instead of leaving the passwords.
  public var requiresPasswords = false
  /// A file that says what the app calls its collections and fields; nil for the usual names.
  public var mapping: String?
  /// A file of rejected records, read in place of the exports.
  public var retry: String?
  /// The file for rejected records.
  public var rejects: String
  /// Whether to read and check everything, and write nothing but rejected records.
  public var isDryRun = false

  /// - Parameter rejects: the file for rejected records.
  public init(rejects: String) { self.rejects = rejects }

  /// Runs a batch in a transaction, and pushes the jobs that it enqueued.
  public typealias Transact =
    @Sendable (@escaping @Sendable (AppTransaction) async throws -> FirebaseOutcome) async throws -> FirebaseOutcome

  /// The progress of an import.
  public struct Progress: Sendable, Hashable {
    /// The completed fraction, 0–1.
    public let share: Double
    /// What is done now, such as `reading posts`.
    public let what: String
  }

  /// The result of an import.
  public struct Report: Sendable, Hashable {
    public struct Count: Sendable, Hashable, Encodable {
      public let kind: FirebaseKind
      public var added = 0
      /// Records that an earlier run, or an earlier record, brought already.
      public var known = 0
      public var rejected = 0
    }

    /// A count for each kind, in the order of the kinds.
    public var counts: [Count] = FirebaseKind.allCases.map { Count(kind: $0) }
    /// Users whose username was taken or not allowed, and is another now.
    public var renamed = 0
    /// Pictures elsewhere on the web, which are not fetched.
    public var externalPictures = 0
    /// Pictures that wait for a run with the storage's files.
    public var waitingPictures = 0
    /// The file of rejected records; nil if there are none.
    public var rejects: String?

    public subscript(kind: FirebaseKind) -> Count {
      get { counts.first { $0.kind == kind } ?? Count(kind: kind) }
      set {
        if let place = counts.firstIndex(where: { $0.kind == kind }) { counts[place] = newValue }
      }
    }

    public var rejected: Int { counts.reduce(0) { $0 + $1.rejected } }
  }

  /// Names the lock that keeps two imports apart. An import holds it while it runs.
  package static let lockName = "fanmill.import.firebase"

  /// Imports the files.
  ///
  /// - Parameters:
  ///   - store: where pictures go.
  ///   - transact: runs a batch; nil only for a dry run.
  ///   - progress: called from time to time, on any thread.
  /// - Throws: `FirebaseImportError` with the place in the file; `MediaStoreError`, `PostgresError`.
  public func run(
    on pool: PostgresPool, store: any MediaStore, transact: @escaping Transact,
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Report {
    let connection = try await pool.dedicatedConnection()
    do {
      try await Self.lock(connection)
      try await pool.execute("SELECT ensure_feed_partitions()")
      let now = Date.now
      let run = try FirebaseRun(self, FirebaseWriter(transact: transact, now: now), now: now, progress: progress)
      let report = try await run.writeAll(on: pool, store: store)
      await Self.unlock(connection)
      return report
    } catch {
      await Self.unlock(connection)
      throw error
    }
  }

  /// Keeps other imports out for as long as the connection lasts.
  private static func lock(_ connection: PostgresConnection) async throws {
    // The server may take a moment to see that an import was killed.
    for attempt in 0..<6 {
      if attempt > 0 { try await Task.sleep(for: .milliseconds(500)) }
      let isLocked = try await connection.query("SELECT pg_try_advisory_lock(hashtextextended(\(lockName), 0))")[0]
        .decode(Bool.self)
      if isLocked { return }
    }
    throw FirebaseImportError(
      .busy, "another import from Firebase is running on this database: wait until it has ended")
  }

  private static func unlock(_ connection: PostgresConnection) async {
    // Without an answer, the lock goes with the connection.
    _ = try? await connection.query("SELECT pg_advisory_unlock(hashtextextended(\(lockName), 0))")
    await connection.close()
  }

  /// Reads and checks the files without a database.
  ///
  /// References are checked by a filter of a fixed size, which takes one unknown key in a thousand for known.
  ///
  /// - Throws: `FirebaseImportError`.
  public func check(progress: @escaping @Sendable (Progress) -> Void = { _ in }) async throws -> Report {
    let run = try FirebaseRun(self, nil, now: Date.now, progress: progress)
    return try await run.checkAll()
  }
}
