import DurableJobs
import DurableJobsRedis
import Foundation
import PrivateServers

/// One post's fan-out to its followers' feeds, which hold 10,000,000 rows, right after a checkpoint: through the API
/// and a worker, both as `make build` makes them and with their default settings.
enum FanOut {
  private static let sizes = [21_841, 100_000, 1_000_000]
  private static let queues: [QueueName] = ["fanout", "fanout-bulk"]

  /// The start of the measured time.
  private enum From {
    case request, answer
  }

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var small = Figure("fan-out to 21,841 followers, from the API's answer", .milliseconds, [.atMost(200)])
    var middle = Figure("fan-out to 100,000 followers, from the request", .milliseconds, [.atMost(450)])
    var large = Figure("fan-out to 1,000,000 followers, from the request", .seconds, [.atMost(4), .ofRaw(0.4)])
    let crowd = Crowd(database: try stage.needDatabase())
    let programs = try stage.programs()
    stage.note("fan-out: filling the feeds")
    try await crowd.fill(sizes)
    try await stage.flush()
    let port = try FreePort.find()
    let api = try await programs.startAPI(port: port)
    let worker = try await programs.startWorker()
    try await waitUntilReady(api, port, stage)
    let poster = Poster(crowd: crowd, port: port, tokens: try await tokens(programs))
    for run in 1...stage.runs {
      stage.note("fan-out, run \(run)")
      try await crowd.reset()
      small.samples.append(try await poster.fanOut(to: 21_841).fromAnswer * 1000)
      small.raw.append(try await crowd.copy(21_841) * 1000)
      middle.samples.append(try await poster.fanOut(to: 100_000).fromRequest * 1000)
      middle.raw.append(try await crowd.copy(100_000) * 1000)
      try await crowd.reset()
      large.samples.append(try await poster.fanOut(to: 1_000_000).fromRequest)
      try await crowd.reset()
      large.raw.append(try await crowd.copy(1_000_000))
    }
    try await worker.stop()
    try await api.stop()
    return [small, middle, large]
  }

  private static func tokens(_ programs: Programs) async throws -> [Int: String] {
    var tokens: [Int: String] = [:]
    for size in sizes { tokens[size] = try await programs.token(of: Crowd.username(size)) }
    return tokens
  }

  private static func waitUntilReady(_ api: Child, _ port: Int, _ stage: Stage) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    var isReady = false
    while !isReady {
      guard api.isRunning, .now < deadline else { throw BenchError("the API or the worker did not become ready") }
      try await Task.sleep(for: .milliseconds(20))
      if FreePort.isFree(port) { continue }
      isReady = try HTTPCall.send("GET", "/readyz", port: port).status == 200
      for queue in queues where isReady { isReady = try await stage.broker.depth(of: queue).workers == 1 }
    }
  }
}

/// Posts through the API and waits until every follower has the post.
private struct Poster: Sendable {
  /// In seconds until the last row was visible.
  struct Times {
    var fromRequest: Double
    var fromAnswer: Double
  }

  let crowd: Crowd
  let port: Int
  let tokens: [Int: String]

  func fanOut(to followers: Int) async throws -> Times {
    try await crowd.checkpoint()
    let requested = ContinuousClock.now
    let post = try Crowd.post(as: tokens[followers], port: port)
    let answered = ContinuousClock.now
    while try await crowd.unfinished(post) {
      guard answered.duration(to: .now) < .seconds(60) else {
        throw BenchError("the post has not reached its \(followers) followers after a minute")
      }
      try await Task.sleep(for: .milliseconds(1))
    }
    let end = ContinuousClock.now
    try BenchError.check("rows of the post", try await crowd.rows(of: post), equals: followers)
    return Times(
      fromRequest: requested.duration(to: end) / .seconds(1), fromAnswer: answered.duration(to: end) / .seconds(1))
  }
}
