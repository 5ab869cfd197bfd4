import DurableJobsAdmin
import LibPQClient
import Migrations

/// The doctor's check of the schema: whether each migration is applied and its file unchanged.
public struct MigrationExamination: Examination {
  private let migrations: [Migration]

  public init(_ migrations: [Migration]) { self.migrations = migrations }

  public func run(in transaction: PostgresTransaction) async throws -> [Finding] { [try await finding(transaction)] }

  private func finding(_ transaction: PostgresTransaction) async throws -> Finding {
    let exists = try await transaction.query("SELECT to_regclass('schema_migrations') IS NOT NULL")[0].decode(Bool.self)
    let applied =
      exists
      ? try await transaction.query("SELECT number, hash FROM schema_migrations ORDER BY number")
        .decode(Int.self, String.self) : []
    let hashes = Dictionary(uniqueKeysWithValues: applied.map { ($0.0, $0.1) })
    let known = Set(migrations.map(\.number))
    if let changed = migrations.first(where: { hashes[$0.number] != nil && hashes[$0.number] != $0.hash }) {
      return .fail(
        "migrations", "\(changed.file) is not the file that was applied",
        "restore it, and put the change into a new migration")
    }
    let pending = migrations.filter { hashes[$0.number] == nil }
    if !pending.isEmpty {
      return .fail(
        "migrations", "\(pending.count) of \(migrations.count) are not applied, starting with \(pending[0].file)",
        "run `fanmill migrate up`")
    }
    let foreign = hashes.keys.filter { !known.contains($0) }
    if !foreign.isEmpty {
      return .warn(
        "migrations", "the database has \(foreign.count) that this program does not know",
        "update this program: the database belongs to a newer one")
    }
    return .ok("migrations", "all \(migrations.count) are applied")
  }
}
