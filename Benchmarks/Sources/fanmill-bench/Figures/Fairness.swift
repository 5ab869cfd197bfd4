import LibPQClient
import PrivateServers

/// Posts to 1,000 followers while three others fan out to 999,998 each, all pushed, through one API and one worker with
/// their default settings.
enum Fairness {
  private static let large = 999_998
  private static let small = 1_000
  private static let atOnce = 3
  /// The minimum time between two small posts, and how long they are measured alone.
  fileprivate static let pace = Duration.milliseconds(40)
  private static let calm = Duration.seconds(10)
  private static let limit = Duration.seconds(120)

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var doneAlone = Figure("a post to 1,000 followers, alone: done, p99", .milliseconds)
    var answeredAlone = Figure("the same: answered, p99", .milliseconds)
    var done = Figure("beside three posts to 999,998 each: done, p99", .milliseconds, [.atMost(60)])
    var answered = Figure("the same: answered, p99", .milliseconds, [.atMost(15)])
    var all = Figure("the three posts meanwhile, all delivered", .seconds)
    let database = try stage.needDatabase()
    let crowd = Crowd(database: database)
    let programs = try stage.programs()
    stage.note("fairness: filling the feeds")
    try await crowd.fill([large, small])
    try await stage.flush()
    let port = try FreePort.find()
    let api = try await programs.startAPI(port: port, ["FANMILL_FEED_MOST_PUSHED": "2000000"])
    let worker = try await programs.startWorker(["FANMILL_FEED_MOST_PUSHED": "2000000"])
    let poster = SmallPoster(
      crowd: crowd, port: port, token: try await programs.token(of: Crowd.username(small)))
    let star = try await programs.token(of: Crowd.username(large))
    for run in 1...stage.runs {
      stage.note("fairness, run \(run)")
      try await crowd.reset()
      try await database.pool.execute("VACUUM ANALYZE following_user_posts")
      try await crowd.checkpoint()
      _ = try await poster.post { $0 > .seconds(2) }
      let alone = try await poster.post { $0 > calm }
      try await crowd.checkpoint()
      let begin = ContinuousClock.now
      var posts: [Int] = []
      for _ in 0..<atOnce { posts.append(try Crowd.post(as: star, port: port)) }
      let beside = try await poster.post { [posts] gone in
        guard gone < limit else { throw BenchError("the large posts were not delivered within \(limit)") }
        for post in posts where try await crowd.unfinished(post) { return false }
        return true
      }
      all.samples.append(begin.duration(to: .now) / .seconds(1))
      for post in posts { try BenchError.check("rows of a post", try await crowd.rows(of: post), equals: large) }
      let medians = [alone, beside].map { Figure.percentile($0.map(\.done), 0.5) }
      stage.note("  \(alone.count) posts alone, \(beside.count) beside; done, p50: \(medians) ms")
      doneAlone.samples.append(Figure.percentile(alone.map(\.done), 0.99))
      answeredAlone.samples.append(Figure.percentile(alone.map(\.answered), 0.99))
      done.samples.append(Figure.percentile(beside.map(\.done), 0.99))
      answered.samples.append(Figure.percentile(beside.map(\.answered), 0.99))
    }
    try await worker.stop()
    try await api.stop()
    return [doneAlone, answeredAlone, done, answered, all]
  }
}

/// Posts to few followers, one post after the other.
private struct SmallPoster: Sendable {
  /// In milliseconds from the request.
  struct Times: Sendable {
    var answered: Double
    var done: Double
  }

  let crowd: Crowd
  let port: Int
  let token: String

  /// Posts until `isOver` returns true; it gets the elapsed time.
  func post(until isOver: (Duration) async throws -> Bool) async throws -> [Times] {
    var times: [Times] = []
    let start = ContinuousClock.now
    while try await !isOver(start.duration(to: .now)) {
      let requested = ContinuousClock.now
      let post = try Crowd.post(as: token, port: port)
      let answered = ContinuousClock.now
      while try await crowd.unfinished(post) { try await Task.sleep(for: .milliseconds(1)) }
      times.append(
        Times(
          answered: requested.duration(to: answered) / .milliseconds(1),
          done: requested.duration(to: .now) / .milliseconds(1)))
      try await Task.sleep(until: requested + Fairness.pace)
    }
    return times
  }
}
