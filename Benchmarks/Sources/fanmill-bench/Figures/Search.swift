import Foundation
import LibPQClient
import PrivateServers

/// Searches of 1,000,000 accounts and of 1,000,000 posts, each over 10,000 different queries, a fifth of them one
/// syllable.
enum Search {
  private static let connections = 16
  /// Ids that no other measurement uses.
  private static let base = 30_000_000
  private static let syllables = 2_000

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    let database = try stage.needDatabase()
    stage.note("search: filling the tables")
    try await fill(database)
    try await stage.flush()
    let port = try FreePort.find()
    let api = try await stage.programs().startAPI(port: port, ["FANMILL_LIMITS": "off"])
    let load = HTTPLoad(port: port, connections: connections)
    var figures: [Figure] = []
    for (noun, path, table) in [
      ("accounts", "users", "searched_accounts"), ("posts", "posts", "searched_posts"),
    ] {
      var rate = Figure("searches of 1,000,000 \(noun), 16 at once", .perSecond, [.atLeast(1_000)])
      var tail = Figure("the same, p99", .milliseconds, [.atMost(20)])
      let requests = try await queries(of: table, database).map {
        HTTPLoad.Request(path: "/v1/\(path)?query=\($0)", token: LargeWorld.token(base))
      }
      try BenchError.check("queries", Set(requests.map(\.path)).count, equals: 10_000)
      _ = try await load.run(Array(requests.prefix(1_000)), expecting: 200)
      for run in 1...stage.runs {
        stage.note("search of \(noun), run \(run)")
        let outcome = try await load.run(requests.shuffled(), expecting: 200)
        rate.samples.append(outcome.perSecond)
        tail.samples.append(Figure.percentile(outcome.latencies, 0.99))
      }
      figures += [rate, tail]
    }
    try await api.stop()
    for table in ["posts", "accounts"] {
      try await database.pool.execute("DELETE FROM \(unescaped: table) WHERE id >= \(base)")
    }
    try await database.pool.execute("DELETE FROM sessions")
    try await database.pool.execute("VACUUM ANALYZE")
    return figures
  }

  /// 2,000 single syllables and 8,000 substrings of the indexed text.
  private static func queries(of table: String, _ database: Database) async throws -> [String] {
    let pieces = try await database.pool.query(
      """
      SELECT piece FROM (
        SELECT DISTINCT btrim(substr(word, 1 + floor(random() * 3)::int, 2 + floor(random() * 5)::int)) AS piece
        FROM \(unescaped: table) TABLESAMPLE BERNOULLI (3), regexp_split_to_table(form, '[\\s]') word
        WHERE random() < 0.3
      ) pieces WHERE length(piece) > 1 ORDER BY random() LIMIT 8000
      """
    ).decode(String.self)
    let all = (0..<syllables).map { syllable($0) } + pieces
    return all.compactMap {
      $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics.intersection(.init(charactersIn: "\0"..."\u{7F}")))
    }
  }

  private static func syllable(_ number: Int) -> String {
    String(decoding: [UInt16(0xAC00 + number * 5)], as: UTF16.self)
  }

  /// Names and words of syllables, some of which are a thousand times as frequent as others; a third of them are Latin.
  private static func fill(_ database: Database) async throws {
    async let accounts: Void = fill(
      database,
      """
      INSERT INTO accounts (id, username, name, major) OVERRIDING SYSTEM VALUE
        SELECT \(base) + i, pg_temp.latin() || pg_temp.latin() || pg_temp.latin() || i,
          CASE WHEN i % 3 = 0 THEN pg_temp.latin() || pg_temp.latin() || ' ' || pg_temp.latin()
            ELSE chr(44032 + 5 * floor(40 * random() ^ 3)::int) || pg_temp.syllable() || pg_temp.syllable() END,
          pg_temp.words(0, 2)
        FROM generate_series(0, 999999) i;
      """)
    async let posts: Void = fill(
      database,
      """
      INSERT INTO posts (id, author_id, title, description)
        SELECT post_id_at('2024-02-01') + i, \(base) + i, pg_temp.words(1, 4), pg_temp.words(0, 20)
        FROM generate_series(0, 999999) i;
      """)
    _ = try await (accounts, posts)
    let token = LargeWorld.token(base)
    try await database.pool.execute(
      """
      INSERT INTO sessions (token_hash, account_id, expires_at)
      VALUES (sha256(convert_to(\(token), 'UTF8')), \(base), now() + interval '1 day')
      """)
    try await database.pool.execute("VACUUM ANALYZE")
  }

  private static func fill(_ database: Database, _ statement: String) async throws {
    try await database.pool.transaction { transaction in
      try await transaction.executeScript(
        """
        SELECT setseed(0.5);
        CREATE FUNCTION pg_temp.syllable() RETURNS text LANGUAGE sql VOLATILE
        RETURN chr(44032 + 5 * floor(\(syllables) * random() ^ 4)::int);
        CREATE FUNCTION pg_temp.latin() RETURNS text LANGUAGE sql VOLATILE
        RETURN substr('bcdfghjklmnprstvw', 1 + floor(17 * random())::int, 1)
          || substr('aeiou', 1 + floor(5 * random())::int, 1)
          || substr('nrstlmkx', 1 + floor(8 * random() ^ 2)::int, floor(2 * random())::int);
        CREATE FUNCTION pg_temp.word() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
        DECLARE word text := ''; is_latin boolean := random() < 0.33; BEGIN
          FOR i IN 1 .. 1 + floor(3 * random())::int LOOP
            word := word || CASE WHEN is_latin THEN pg_temp.latin() ELSE pg_temp.syllable() END;
          END LOOP;
          RETURN word;
        END $$;
        CREATE FUNCTION pg_temp.words(fewest int, most int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
        DECLARE words text := ''; BEGIN
          FOR i IN 1 .. fewest + floor((most - fewest + 1) * random())::int LOOP words := words || pg_temp.word() || ' '; END LOOP;
          RETURN rtrim(words);
        END $$;
        \(statement)
        """, timeout: .seconds(3600))
    }
  }
}
