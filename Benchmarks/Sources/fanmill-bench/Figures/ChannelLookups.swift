import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import PrivateServers

/// Queued lookups, sent to the YouTube stand-in by a worker as `make build` makes it: each search is a separate call,
/// and each response takes 20 ms.
enum ChannelLookups {
  private static let lookups = 20_000
  private static let queue: QueueName = "lookups"

  /// The app's job.
  private struct Search: Job {
    static let kind: JobKind = "lookups.text"
    static let queue = ChannelLookups.queue
    var lookup: UUID
    var words: String
  }

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var figure = Figure("searches of channels, 20 ms an answer, one worker", .perSecond, [.atLeast(1000)])
    let database = try stage.needDatabase()
    let programs = try stage.programs()
    let port = try FreePort.find()
    let service = try await programs.startYouTube(port: port, delay: "20ms", searches: 10_000_000)
    try await waitUntilReady(service, port)
    for run in 1...stage.runs {
      stage.note("lookups, run \(run)")
      try await stage.flush()
      try await ask(stage, database, run)
      try await database.pool.execute("CHECKPOINT")
      let worker = try await programs.startWorker([
        "FANMILL_YOUTUBE_URL": "http://127.0.0.1:\(port)", "FANMILL_YOUTUBE_KEYS": "a-key",
        "FANMILL_YOUTUBE_SEARCHES": "10000000",
      ])
      let seconds = try await stage.drain(queue, by: worker)
      for (what, query) in [
        ("lookups that are done", "SELECT count(*) FROM lookups WHERE state = 'done'"),
        ("answers", "SELECT count(*) FROM channel_answers"),
        ("searches that were paid", "SELECT sum(spent)::bigint FROM youtube_quota WHERE reserved = 0"),
      ] {
        try BenchError.check(what, try await database.count(PostgresQuery(unescaped: query)), equals: lookups)
      }
      figure.samples.append(Double(lookups) / seconds)
    }
    try await service.stop()
    return [figure]
  }

  private static func waitUntilReady(_ service: Child, _ port: Int) async throws {
    while true {
      guard service.isRunning else { throw BenchError("the stand-in ended at once") }
      try await Task.sleep(for: .milliseconds(5))
      if FreePort.isFree(port) { continue }
      if try HTTPCall.send("GET", "/readyz", port: port).status == 200 { return }
    }
  }

  /// Sends queries that have not been asked before.
  private static func ask(_ stage: Stage, _ database: Database, _ run: Int) async throws {
    try await database.pool.execute("TRUNCATE lookup_followers, lookups, channel_answers, channels, youtube_quota")
    let client = JobClient(broker: stage.broker, ledger: PostgresLedger(pool: database.pool), logger: stage.logger)
    for first in stride(from: 0, to: lookups, by: 1000) {
      let searches = (first..<first + 1000).map { Search(lookup: UUID(), words: "somebody \(run) \($0)") }
      let questions = searches.map { "text:\($0.words)" }
      try await client.transaction { transaction in
        let jobs = try await transaction.enqueue(searches)
        try await transaction.sql.execute(
          """
          INSERT INTO lookups (id, question, job, created_at)
          SELECT *, now() FROM unnest(\(searches.map { PostgresUUID($0.lookup) }), \(questions),
            \(jobs.map { PostgresUUID(high: $0.high, low: $0.low) }))
          """)
      }
    }
  }
}
