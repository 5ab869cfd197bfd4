import Foundation
import LibPQClient
import PrivateServers

/// Hearts of different users for one celeb through the API, beside requests of the same users for their own account.
enum Hearts {
  private static let fans = 12_000
  private static let connections = 32
  private static let channel = "UC" + String(repeating: "x", count: 22)

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var rate = Figure("hearts through the API, different users, one celeb", .perSecond)
    var share = Figure("the same, to requests that only authenticate", .times, [.atLeast(0.5)])
    var tail = Figure("a heart's answer, p99", .milliseconds, [.atMost(50)])
    let database = try stage.needDatabase()
    let port = try FreePort.find()
    let tokens = (0..<fans).map { number in
      let digits = String(number)
      return String(repeating: "t", count: 43 - digits.count) + digits
    }
    try await fill(database, tokens)
    try await stage.flush()
    let api = try await stage.programs().startAPI(port: port)
    let load = HTTPLoad(port: port, connections: connections)
    for run in 1...stage.runs {
      stage.note("hearts, run \(run)")
      // Ten minutes pass.
      try await database.pool.execute("UPDATE celeb_fans SET hearted_at = NULL WHERE hearted_at IS NOT NULL")
      try await database.pool.execute("VACUUM ANALYZE celeb_fans")
      let before = try await database.count("SELECT count(*) FROM hearts")
      let plain = try await load.run("GET", "/v1/me", tokens: tokens, expecting: 200)
      let hearts = try await load.run(
        "POST", "/v1/me/celebs/youtube/\(channel)/hearts", tokens: tokens, expecting: 201)
      try BenchError.check(
        "hearts", try await database.count("SELECT count(*) FROM hearts") - before, equals: fans)
      rate.samples.append(hearts.perSecond)
      share.samples.append(hearts.perSecond / plain.perSecond)
      tail.samples.append(Figure.percentile(hearts.latencies, 0.99))
    }
    try await api.stop()
    for table in ["jobs.jobs", "hearts", "celeb_fans", "celeb_fan_levels", "celebs", "sessions"] {
      try await database.pool.execute("TRUNCATE \(unescaped: table)")
    }
    return [rate, share, tail]
  }

  private static func fill(_ database: Database, _ tokens: [String]) async throws {
    try await database.pool.execute(
      """
      WITH fan AS (
        INSERT INTO accounts (username) SELECT 'heart-fan-' || number FROM generate_series(1, \(fans)) number
          RETURNING id
      ), celeb AS (
        INSERT INTO celebs (platform, account) VALUES ('youtube', \(channel)) RETURNING id
      ), registered AS (
        INSERT INTO celeb_fans (account_id, celeb_id, since, reached_at)
        SELECT fan.id, celeb.id, now(), now() FROM fan, celeb
      ), numbered AS (
        SELECT id, row_number() OVER (ORDER BY id) AS number FROM fan
      )
      INSERT INTO sessions (token_hash, account_id, expires_at)
      SELECT sha256(convert_to(token, 'UTF8')), id, now() + interval '1 day'
      FROM numbered JOIN unnest(\(tokens)) WITH ORDINALITY AS t (token, number) USING (number)
      """)
    try await database.pool.execute("VACUUM ANALYZE accounts, sessions, celebs, celeb_fans")
  }
}
