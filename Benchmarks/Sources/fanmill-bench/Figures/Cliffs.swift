import DurableJobs
import DurableJobsPostgres
import Foundation
import PrivateServers

/// Single requests on large data: 1,000,000 accounts, 10,000,000 feed rows, a celeb of 5,000,000 fans, an account that
/// follows 100,000; the rebuild of a feed; feeds of readers who were asleep, posts that are pulled; and requests during
/// the trimming of feeds.
enum Cliffs {
  private static let times = 200

  /// The app's job.
  private struct Trim: Job {
    static let kind: JobKind = "feed.partitions"
    var keepDays = 10
  }

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var reads = Figure("slowest read among large tables, p99", .milliseconds, [.atMost(20)])
    var writes = Figure("slowest write among large tables, p99", .milliseconds, [.atMost(20)])
    var rebuild = Figure("rebuild of the feed of who follows 100", .seconds, [.atMost(1)])
    var trimming = Figure("longest request beside the trimming of ten partitions", .milliseconds, [.atMost(100)])
    var sleeping = Figure("first page of a feed that was asleep, p99", .milliseconds, [.atMost(500)])
    var pulled = Figure("a pulled post, from its answer until a follower has read it", .milliseconds, [.atMost(100)])
    let database = try stage.needDatabase()
    stage.note("cliffs: filling the tables")
    let world = try await LargeWorld.fill(database)
    try await stage.flush()
    let programs = try stage.programs()
    let port = try FreePort.find()
    let api = try await programs.startAPI(
      port: port,
      [
        "FANMILL_CERTIFICATE_KEY": String(repeating: "k", count: 32), "FANMILL_LIMITS": "off",
        "FANMILL_FEED_MOST_PUSHED": "600000",
      ])
    let load = HTTPLoad(port: port, connections: 1)
    for run in 1...stage.runs {
      stage.note("cliffs, run \(run)")
      reads.samples.append(try await slowest(world.reads, load, stage))
      try await world.resetHearts()
      writes.samples.append(try await slowest(world.writes, load, stage))
      try await world.emptyFeed(of: LargeWorld.modest)
      rebuild.samples.append(try await seconds { _ = try await programs.run(["feed", "rebuild", "modest"]) })
      try BenchError.check("rows of the rebuilt feed", try await world.feedRows(of: LargeWorld.modest), equals: 1_000)
    }
    for _ in 1...stage.runs {
      stage.note("cliffs, readers asleep and posts pulled")
      try await world.putToSleep()
      sleeping.samples.append(try await slowest(world.asleepReads, load, stage))
      try await world.wakeUp()
      pulled.samples.append(try await slowestPulled(world, port))
    }
    // Once, since trimmed rows are gone. After it, the oldest pages come from follows and posts.
    trimming.samples.append(try await longestBesideTrimming(world, programs, load, stage))
    reads.samples.append(try await slowest(world.oldReads, load, stage))
    try BenchError.check(
      "rows of a trimmed feed", try await world.feedRows(of: LargeWorld.modest),
      equals: try await world.expectedRows(of: LargeWorld.modest))
    try await api.stop()
    return [reads, writes, rebuild, trimming, sleeping, pulled]
  }

  /// The longest of twenty runs, in milliseconds.
  private static func slowestPulled(_ world: LargeWorld, _ port: Int) async throws -> Double {
    var slowest = 0.0
    for _ in 0..<20 {
      let answer = try HTTPCall.send(
        "POST", "/v1/posts", port: port, token: LargeWorld.token(LargeWorld.star), body: #"{"title":"to all"}"#)
      let start = ContinuousClock.now
      let written = try JSONDecoder().decode(Identified.self, from: answer.body)
      while true {
        let page = try HTTPCall.send(
          "GET", "/v1/feed/following?limit=1", port: port, token: LargeWorld.token(world.starFollower))
        if try JSONDecoder().decode(Items.self, from: page.body).items.first == written { break }
        guard start.duration(to: .now) < .seconds(10) else { throw BenchError("a pulled post reached no follower") }
      }
      slowest = max(slowest, start.duration(to: .now) / .milliseconds(1))
    }
    try BenchError.check("pulled posts", try await world.pulledPosts(), equals: 20)
    return slowest
  }

  private struct Identified: Decodable, Equatable { let id: Int }
  private struct Items: Decodable { let items: [Identified] }

  /// The greatest p99 of all requests; each is sent a few times first to warm up.
  private static func slowest(_ requests: [LargeWorld.Request], _ load: HTTPLoad, _ stage: Stage) async throws -> Double
  {
    var slowest = 0.0
    for request in requests {
      let tokens = request.tokens ?? Array(repeating: request.token, count: times)
      let warmUp = min(10, tokens.count / 10)
      let outcome = try await load.run(request.method, request.path, tokens: tokens, expecting: request.status)
      let tail = Figure.percentile(Array(outcome.latencies.dropFirst(warmUp)), 0.99)
      stage.note("  \(request.method) \(request.path): p99 \((tail * 10).rounded() / 10) ms")
      slowest = max(slowest, tail)
    }
    return slowest
  }

  private static func seconds(_ body: () async throws -> Void) async throws -> Double {
    let start = ContinuousClock.now
    try await body()
    return start.duration(to: .now) / .seconds(1)
  }

  /// Runs a worker that trims ten partitions of 500,000 rows, while clients take turns to read and write.
  private static func longestBesideTrimming(
    _ world: LargeWorld, _ programs: Programs, _ load: HTTPLoad, _ stage: Stage
  ) async throws -> Double {
    stage.note("cliffs, trimming")
    let before = try await world.partitions()
    let worker = try await programs.startWorker(schedules: false)
    let client = JobClient(
      broker: stage.broker, ledger: PostgresLedger(pool: world.database.pool), logger: stage.logger)
    try await client.enqueue(Trim())
    var longest = 0.0
    var isTrimmed = false
    let deadline = ContinuousClock.now + .seconds(120)
    repeat {
      for request in world.besideTrimming {
        let outcome = try await load.run(
          request.method, request.path, tokens: [request.token, request.token], expecting: request.status)
        longest = max(longest, outcome.latencies.max() ?? 0)
      }
      guard .now < deadline else { throw BenchError("the feeds were not trimmed within two minutes") }
      let left = try await (world.partitions(), world.leftovers())
      isTrimmed = left.0 <= before - 10 && left.1 == 0
    } while !isTrimmed
    try await worker.stop()
    return longest
  }
}
