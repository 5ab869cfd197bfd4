import Foundation
import Jobs
import JobsPostgres
import JobsRedis
import Postgres
import Social

/// One post on its way into its followers' feeds, which hold 10,000,000 rows, right after a checkpoint: from just before
/// the post is made until the last row is visible.
enum FanOut {
  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var small = Figure("fan-out to 21,841 followers", .milliseconds, [.atMost(200)])
    var middle = Figure("fan-out to 100,000 followers", .milliseconds, [.atMost(450)])
    var large = Figure("fan-out to 1,000,000 followers", .seconds, [.atMost(4), .ofRaw(0.4)])
    let crowd = Crowd(database: try stage.needDatabase())
    stage.note("fan-out: filling the feeds")
    try await crowd.fill([21_841, 100_000, 1_000_000])
    for run in 1...stage.runs {
      stage.note("fan-out, run \(run)")
      try await stage.flush()
      let worker = try await stage.startWorker(
        queues: [SocialJobs.fanOutQueue, SocialJobs.bulkQueue], database: crowd.database)
      try await crowd.reset()
      small.samples.append(try await fanOut(21_841, crowd, stage) * 1000)
      small.raw.append(try await copy(21_841, crowd) * 1000)
      middle.samples.append(try await fanOut(100_000, crowd, stage) * 1000)
      middle.raw.append(try await copy(100_000, crowd) * 1000)
      try await crowd.reset()
      large.samples.append(try await fanOut(1_000_000, crowd, stage))
      try await crowd.reset()
      large.raw.append(try await copy(1_000_000, crowd))
      try await worker.stop()
    }
    return [small, middle, large]
  }

  /// Seconds from making the post to the last row visible.
  private static func fanOut(_ followers: Int, _ crowd: Crowd, _ stage: Stage) async throws -> Double {
    let client = JobClient(
      broker: stage.broker, ledger: PostgresLedger(pool: crowd.database.pool), logger: stage.logger)
    let author = crowd.author(followers)
    let draft = try PostDraft(title: "To \(followers) followers")
    try await crowd.checkpoint()
    let start = ContinuousClock.now
    let post = try await client.transaction { try await Posts.create(draft, by: author, in: $0) }
    while true {
      let progress = try await FanOutProgress.of(post, in: crowd.database.pool)
      if progress.isDone { break }
      guard start.duration(to: .now) < .seconds(60) else {
        throw BenchError("\(progress.delivered) of \(followers) followers have the post after a minute")
      }
      try await Task.sleep(for: .milliseconds(1))
    }
    let seconds = start.duration(to: .now) / .seconds(1)
    try BenchError.check("rows of the post", try await crowd.rows(of: post), equals: followers)
    return seconds
  }

  /// Seconds of a COPY of the same rows into the same table.
  private static func copy(_ followers: Int, _ crowd: Crowd) async throws -> Double {
    let post = try await crowd.database.count("SELECT next_post_id()")
    try await crowd.checkpoint()
    let rate = try Raw.copy(
      crowd.database.url, table: "following_user_posts", first: Crowd.step(followers),
      step: Crowd.step(followers), count: followers, post: post)
    try BenchError.check("rows of the COPY", try await crowd.rows(of: post), equals: followers)
    return Double(followers) / rate
  }
}
