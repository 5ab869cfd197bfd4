import DurableJobsPostgres
import LibPQClient

/// Migrates a database to what this build needs: the queue's schema, by its own versions, and the app's tables, by the
/// files of a folder.
public struct DatabaseMigrator: Sendable {
  /// A step that was applied.
  public enum Step: Sendable, Hashable {
    /// A version of the queue's schema.
    case queue(JobsSchemaVersion)
    /// One of the app's files.
    case app(Migration)
  }

  /// The last file that creates or changes tables of the queue, from before the queue had its own schema. That schema
  /// takes over the existing tables, and later files rely on that.
  static let lastOfQueue = 37

  private let app: Migrator
  private let pool: PostgresPool

  /// The app's files.
  public var migrations: [Migration] { app.migrations }

  /// - Parameter migrations: the result of `Migration.all(in:)`.
  public init(_ migrations: [Migration], pool: PostgresPool) {
    app = Migrator(migrations, pool: pool)
    self.pool = pool
  }

  /// Applies the pending steps.
  ///
  /// - Parameter each: called with each step once it has committed.
  /// - Returns: the applied steps.
  /// - Throws: `MigrationError`, `JobsSchemaError`; `PostgresError` if the server is unreachable. Steps applied before
  ///   stay applied.
  @discardableResult
  public func up(each: @Sendable (Step) -> Void = { _ in }) async throws -> [Step] {
    var steps = try await app.up(to: Self.lastOfQueue) { each(.app($0)) }.map { Step.app($0) }
    for version in try await JobsSchema.migrate(pool) {
      each(.queue(version))
      steps.append(.queue(version))
    }
    return steps + (try await app.up { each(.app($0)) }.map { .app($0) })
  }

  /// Undoes the latest files; see `Migrator.down`. The file after `lastOfQueue` takes the queue's schema along: its later
  /// versions are undone first, and its tables go back among the app's.
  @discardableResult
  public func down(_ count: Int = 1, each: @Sendable (Migration) -> Void = { _ in }) async throws -> [Migration] {
    let later = try await app.status().count { $0.appliedAt != nil && $0.number > Self.lastOfQueue + 1 }
    guard count > later else { return try await app.down(count, each: each) }
    let undone = later > 0 ? try await app.down(later, each: each) : []
    if try await app.status().contains(where: { $0.appliedAt != nil && $0.number == Self.lastOfQueue + 1 }) {
      try await JobsSchema.rollBack(pool, to: 1)
    }
    return undone + (try await app.down(count - later, each: each))
  }

  /// All versions of the queue's schema and all files, in order, and when each was applied. Changes nothing.
  ///
  /// - Throws: as `up` does if they do not match what was applied.
  public func status() async throws -> (queue: [JobsSchema.VersionStatus], app: [Migrator.Status]) {
    (try await JobsSchema.status(pool), try await app.status())
  }
}
