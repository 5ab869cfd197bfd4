import LibPQClient
import PrivateServers

/// The requests of an app at its start, with 1,000,000 accounts, 10,000,000 feed rows and 1,000,000 likes, 16 at once,
/// compared with the API's rate for responses that need no database.
enum Reading {
  private static let connections = 16
  private static let requests = 20_000
  /// The number of accounts that read in turn.
  private static let askers = 10_000
  /// Ids that no other measurement uses.
  private static let base = 50_000_000
  private static let authors = 10_000
  private static let readers = 500_000
  private static let accounts = 1_000_000

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var health = Figure("healthz, 16 at once", .perSecond)
    // Machines differ in speed, and one machine varies from hour to hour, so all bounds are relative to healthz/s in
    // the same run. The rates below come from a machine with 33,320 healthz/s, before these requests were made faster;
    // each is multiplied by the required gain. Since then healthz itself has become 1.2 times as fast.
    let baseline = 33_320 * 1.2
    var rows: [(path: String, rate: Figure, part: Figure, tail: Figure, even: Figure?)] = [
      ("feed/following?limit=20", 1_762 / baseline * 1.7, 15.0 as Double?), ("feed/home", 1_272 / baseline * 2, 15),
      ("me", 5_399 / baseline * 1.3, nil),
    ].map { path, part, tail in
      (
        path, Figure("\(path), 16 at once, 1,000,000 accounts", .perSecond),
        Figure("the same, to healthz", .times, [.atLeast(part)]),
        Figure("the same, p99", .milliseconds),
        tail.map { Figure("the same, p99 at 40,000 healthz/s", .milliseconds, [.atMost($0)]) }
      )
    }
    let database = try stage.needDatabase()
    stage.note("reading: filling the tables")
    try await fill(database)
    try await stage.flush()
    let port = try FreePort.find()
    let api = try await stage.programs().startAPI(port: port)
    let load = HTTPLoad(port: port, connections: connections)
    for run in 1...stage.runs {
      stage.note("reading, run \(run)")
      let tokens = (0..<askers).map { LargeWorld.token(base + authors + $0 * 37) }
      let healthy = try await load.run("GET", "/healthz", tokens: Array(repeating: "", count: requests), expecting: 200)
      health.samples.append(healthy.perSecond)
      for index in rows.indices {
        let path = "/v1/" + rows[index].path
        _ = try await load.run("GET", path, tokens: Array(tokens.prefix(2_000)), expecting: 200)
        let outcome = try await load.run("GET", path, tokens: tokens + tokens, expecting: 200)
        rows[index].rate.samples.append(outcome.perSecond)
        rows[index].part.samples.append(outcome.perSecond / healthy.perSecond)
        let tail = Figure.percentile(outcome.latencies, 0.99)
        rows[index].tail.samples.append(tail)
        rows[index].even?.samples.append(tail * healthy.perSecond / baseline)
      }
    }
    try await api.stop()
    // Other measurements have tables of other sizes.
    try await database.pool.execute(
      """
      TRUNCATE accounts, posts, likes, post_counts, follows, following_user_posts, media_files, media_quotas CASCADE
      """)
    return [health] + rows.flatMap { [$0.rate, $0.part, $0.tail, $0.even].compactMap(\.self) }
  }

  /// Half of the accounts follow two authors of ten posts each, with a picture, and like two of these posts.
  private static func fill(_ database: Database) async throws {
    let statements: [PostgresQuery] = [
      // This figure needs no search, and indexing a million accounts takes minutes.
      "ALTER TABLE accounts DISABLE TRIGGER add_searched", "ALTER TABLE posts DISABLE TRIGGER add_searched",
      """
      INSERT INTO accounts (id, username, name) OVERRIDING SYSTEM VALUE
      SELECT \(base) + i, 'reader-' || i, 'Reader ' || i FROM generate_series(0, \(accounts - 1)) i
      """,
      """
      INSERT INTO media_files (id, hash, content_type, bytes, width, height, ready)
      SELECT md5(i::text), sha256(i::text::bytea), 'image/jpeg', 100000, 1600, 1200, true
      FROM generate_series(1, \(authors)) i
      """,
      """
      INSERT INTO media (id, owner_id, file_id)
      SELECT left(md5(i::text), 22), \(base) + i - 1, md5(i::text) FROM generate_series(1, \(authors)) i
      """,
      """
      UPDATE accounts SET avatar_media = left(md5((id - \(base) + 1)::text), 22)
      WHERE id >= \(base) AND id < \(base + authors)
      """,
      """
      INSERT INTO posts (id, author_id, title, description, media, media_dimensions)
      SELECT post_id_at(date_trunc('minute', now()) - make_interval(hours => k)) + a, \(base) + a,
        'What I drew today', 'A drawing in two colours, with a pencil and a brush, number ' || k,
        ARRAY[left(md5((a + 1)::text), 22)], ARRAY[1600, 1200]
      FROM generate_series(0, 9) k, generate_series(0, \(authors - 1)) a
      """,
      """
      INSERT INTO follows (follower_id, followee_id)
      SELECT \(base) + i, \(base) + (i * 7919::bigint + n * 5000) % \(authors)
      FROM generate_series(\(authors), \(authors + readers - 1)) i, generate_series(0, 1) n
      """,
      """
      INSERT INTO following_user_posts (user_id, post_id)
      SELECT follower_id, id FROM follows JOIN posts ON author_id = followee_id
      WHERE follower_id >= \(base) ORDER BY follower_id, id
      """,
      """
      INSERT INTO likes (post_id, account_id)
      SELECT id, follower_id FROM follows JOIN LATERAL (
        SELECT id FROM posts WHERE author_id = followee_id ORDER BY id OFFSET follower_id % 10 LIMIT 1
      ) post ON true WHERE follower_id >= \(base) ORDER BY id, follower_id
      """,
      """
      INSERT INTO sessions (token_hash, account_id, expires_at)
      SELECT sha256(convert_to(repeat('t', 35) || id, 'UTF8')), id, now() + interval '1 day'
      FROM accounts WHERE id >= \(base)
      """,
      "ALTER TABLE accounts ENABLE TRIGGER add_searched", "ALTER TABLE posts ENABLE TRIGGER add_searched",
    ]
    for statement in statements { try await database.pool.execute(statement) }
    try await database.pool.execute("VACUUM ANALYZE")
    try BenchError.check(
      "feed rows", try await database.count("SELECT count(*) FROM following_user_posts WHERE user_id >= \(base)"),
      equals: 10_000_000)
  }
}
