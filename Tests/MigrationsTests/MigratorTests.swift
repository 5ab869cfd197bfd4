import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging
import Migrations
import PrivateServers
import Reactor
import Testing

@Suite(.timeLimit(.minutes(2))) struct MigratorTests {
  @Test func goesUpAndDownAndTellsWhere() async throws {
    try await withPool { pool in
      let migrator = try Migrator([step(1), step(2), step(3)], pool: pool)
      #expect(try await migrator.status().map(\.appliedAt) == [nil, nil, nil])
      #expect(try await migrator.up(to: 2).map(\.number) == [1, 2])
      #expect(try await migrator.status().map { $0.appliedAt != nil } == [true, true, false])
      #expect(try await migrator.up().map(\.file) == ["0003_step.sql"])
      #expect(try await migrator.up().isEmpty)
      #expect(try await tables(pool) == ["step_1", "step_2", "step_3"])
      #expect(try await migrator.down(2).map(\.number) == [3, 2])
      #expect(try await tables(pool) == ["step_1"])
      #expect(try await migrator.down(5).map(\.number) == [1])
      #expect(try await tables(pool).isEmpty)
    }
  }

  @Test func severalAtOnceTakeTurns() async throws {
    try await withPool { pool in
      let migrator = try Migrator((1...5).map { try step($0) }, pool: pool)
      let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
        for _ in 0..<4 { group.addTask { try await migrator.up().map(\.number) } }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(applied.sorted() == [1, 2, 3, 4, 5])
    }
  }

  @Test func refusesWhatDoesNotFit() async throws {
    try await withPool { pool in
      try await Migrator([step(1), step(3)], pool: pool).up()
      let changed = try Migrator([step(1, extra: "-- another word"), step(3)], pool: pool)
      #expect(try await code { try await changed.up() } == .changed)
      #expect(try await code { _ = try await changed.status() } == .changed)
      #expect(try await code { try await Migrator([step(1)], pool: pool).up() } == .missing)
      #expect(try await code { try await Migrator([step(1), step(2), step(3)], pool: pool).up() } == .outOfOrder)
      let oneWay = try Migration(file: "0004_one_way.sql", text: "CREATE TABLE one_way ()")
      let migrator = try Migrator([step(1), step(3), oneWay], pool: pool)
      try await migrator.up()
      #expect(try await code { try await migrator.down() } == .irreversible)
    }
  }

  @Test func failedStepLeavesNothing() async throws {
    try await withPool { pool in
      let bad = try Migration(file: "0002_bad.sql", text: "CREATE TABLE half ();\nSELECT 1 / 0;\n-- down\n")
      let migrator = try Migrator([step(1), bad], pool: pool)
      let error = await #expect(throws: MigrationError.self) { try await migrator.up() }
      #expect(error?.code == .refused)
      #expect(error?.message.contains("0002_bad.sql") == true)
      #expect(try await tables(pool) == ["step_1"])
      #expect(try await migrator.status().map { $0.appliedAt != nil } == [true, false])
    }
  }

  @Test func readsAFolder() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    func write(_ file: String, _ text: String) throws {
      try text.write(toFile: folder + "/" + file, atomically: false, encoding: .utf8)
    }
    try write("0002_second.sql", "B;\n  -- down  \nC;")
    try write("0001_first.sql", "A;\n")
    try write("README.md", "not one of them")
    let found = try Migration.all(in: folder)
    #expect(found.map(\.number) == [1, 2])
    #expect(found.map(\.down) == [nil, "C;"])
    #expect(found[1].up == "B;")
    #expect(found[0].hash == "8b936c8da13cd9b1f6cc8fe3d95e5807cfed868795ff28b4493d85494fb89004")
    try write("0002_again.sql", "D;")
    #expect(throws: MigrationError.self) { try Migration.all(in: folder) }
    for name in ["1_short.sql", "abcd_x.sql", "0000_zero.sql", "0001.sql"] {
      #expect(throws: MigrationError.self) { try Migration(file: name, text: "A") }
    }
    #expect(throws: MigrationError.self) { try Migration(file: "0001_empty.sql", text: "  \n-- down\nA") }
    #expect(throws: MigrationError.self) { try Migration.all(in: folder + "/nowhere") }
  }

  @Test func theProjectsOwnGoUpAndDownAndUp() async throws {
    try await withPool { pool in
      let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations").path
      let migrator = DatabaseMigrator(try Migration.all(in: folder), pool: pool)
      #expect(try await code { try await SchemaVersion.check(pool) } == .behind)
      try await migrator.up()
      try await SchemaVersion.check(pool)
      try await migrator.down()
      #expect(try await code { try await SchemaVersion.check(pool) } == .behind)
      try await migrator.up()
      try await SchemaVersion.check(pool)
      let count = migrator.migrations.count
      #expect(SchemaVersion.needed == migrator.migrations.last?.number, "what needs a new migration says so")
      #expect(try await migrator.down(count).count == count)
      #expect(try await tables(pool).isEmpty)
      // With the queue's schema, which has a version of its own.
      #expect(try await migrator.up().count == count + 1)
      let status = try await migrator.status()
      #expect(status.queue.allSatisfy { $0.appliedAt != nil } && status.app.allSatisfy { $0.appliedAt != nil })
    }
  }
}

private func step(_ number: Int, extra: String = "") throws -> Migration {
  try Migration(
    file: "000\(number)_step.sql",
    text: """
      -- A table; with two statements.
      CREATE TABLE step_\(number) (id bigint);
      INSERT INTO step_\(number) VALUES (\(number)); \(extra)
      -- down
      DROP TABLE step_\(number);
      """)
}

private func tables(_ pool: PostgresPool) async throws -> [String] {
  try await pool.query(
    """
    SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S', 'v')
      AND relname <> 'schema_migrations' ORDER BY 1
    """
  ).decode(String.self)
}

private func code(_ body: () async throws -> Void) async throws -> MigrationError.Code? {
  do {
    try await body()
    return nil
  } catch let error as MigrationError {
    return error.code
  }
}

private let loop = EventLoop(name: "test-loop")

private func withPool(_ body: @Sendable (PostgresPool) async throws -> Void) async throws {
  let configuration = try PostgresConfiguration(url: await SharedServers.freshDatabase())
  let pool = PostgresPool(
    configuration: configuration, size: 6, waitLimit: .seconds(30), loop: loop,
    logger: Logger(label: "migrations-tests"))
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { await pool.run() }
    try await body(pool)
    group.cancelAll()
  }
}
