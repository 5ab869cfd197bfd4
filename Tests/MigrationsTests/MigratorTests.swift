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
      // With the queue's schema, which has versions of its own.
      #expect(try await migrator.up().count == count + JobsSchema.newest)
      let status = try await migrator.status()
      #expect(status.queue.allSatisfy { $0.appliedAt != nil } && status.app.allSatisfy { $0.appliedAt != nil })
    }
  }

  /// Migrating down to before pictures loses only those, and migrating up finds the rest again.
  @Test func goingBackAndForthKeepsWhatWasThereBefore() async throws {
    try await withPool { pool in
      let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations").path
      let migrator = DatabaseMigrator(try Migration.all(in: folder), pool: pool)
      try await migrator.up()
      try await pool.transaction { transaction in
        try await transaction.executeScript(
          """
          INSERT INTO accounts (username, name) VALUES ('ann', '김민지'), ('bob', '');
          INSERT INTO media_files (id, hash, content_type, bytes, width, height)
            SELECT md5(i::text), sha256(i::text::bytea), 'image/png', 100, 30, 20 FROM generate_series(1, 2) i;
          INSERT INTO media (id, owner_id, file_id) SELECT left(id, 22), 1, id FROM media_files;
          UPDATE accounts SET avatar_media = (SELECT min(id) FROM media) WHERE id = 1;
          INSERT INTO posts (author_id, title, media, media_dimensions)
            VALUES (1, 'drawn', ARRAY(SELECT id FROM media), '{30,20,30,20}'), (1, 'written', '{}', '{}');
          INSERT INTO follows (follower_id, followee_id) VALUES (2, 1);
          INSERT INTO likes (post_id, account_id) SELECT id, 2 FROM posts;
          INSERT INTO comments (post_id, account_id, text) SELECT id, 2, 'yes' FROM posts;
          INSERT INTO restrictions (account_id, other_id, blocked_at) VALUES (1, 2, now());
          """)
      }
      func kept() async throws -> [Int] {
        let row = try await pool.query(
          """
          SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM posts), (SELECT count(*) FROM likes),
            (SELECT count(*) FROM comments), (SELECT count(*) FROM follows),
            (SELECT sum(likes)::bigint FROM post_counts)
          """)[0]
        return try (0..<6).map { try Int(postgres: row[$0]) }
      }
      let before = try await kept()
      #expect(before == [2, 2, 2, 2, 1, 2])
      let later = migrator.migrations.count { $0.number >= 41 }
      #expect(try await migrator.down(later).last?.number == 41)
      #expect(try await kept() == before)
      #expect(try await migrator.up().count == later)
      #expect(try await kept() == before)
      let shown = try await pool.query(
        "SELECT count(*) FROM posts WHERE media <> '{}' UNION ALL SELECT count(*) FROM media"
      ).decode(Int.self)
      #expect(shown == [0, 0])
      let found = try await pool.query("SELECT account FROM search_accounts('ㄱㅁ', -1, 5)").decode(Int.self)
      #expect(found == [1])
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
