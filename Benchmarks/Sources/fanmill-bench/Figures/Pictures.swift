import Foundation
import LibPQClient
import PrivateServers

/// A hundred concurrent uploads of 4 MB, which two workers resize, and small posts beside them, which a third fans out.
enum Pictures {
  private static let count = 100
  private static let workers = 2
  private static let otherQueues = "fanout,fanout-bulk,notifications,hearts,rankings,mail,lookups,webhooks"
  /// Small posts a second, and the seconds of them that give the tail without uploads.
  private static let postsPerSecond = 20.0
  private static let calm = 30.0
  private static let limit = Duration.seconds(300)

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var ready = Figure("\(count) uploads of 4 MB at once: all their sizes there, two workers", .seconds, [.atMost(90)])
    var uploaded = Figure("the last of the uploads answered", .seconds)
    var api = Figure("the API's memory meanwhile, peak", .megabytes, [.atMost(120)])
    var worker = Figure("a worker's memory meanwhile, peak", .megabytes, [.atMost(150)])
    var tail = Figure("a small post's p99 meanwhile, to the one before", .times, [.atLeast(1 / 1.2)])
    let picture = try await draw(in: stage.folder)
    for run in 1...stage.runs {
      stage.note("pictures, run \(run)")
      let outcome = try await measureOnce(stage, picture, run)
      ready.samples.append(outcome.ready)
      uploaded.samples.append(outcome.uploaded)
      api.samples.append(outcome.apiMegabytes)
      worker.samples.append(outcome.workerMegabytes)
      tail.samples.append(outcome.calmTail / outcome.busyTail)
    }
    return [ready, uploaded, api, worker, tail]
  }

  private struct Outcome {
    var ready: Double
    var uploaded: Double
    var apiMegabytes: Double
    var workerMegabytes: Double
    /// Milliseconds.
    var calmTail: Double
    var busyTail: Double
  }

  private static func measureOnce(_ stage: Stage, _ picture: [UInt8], _ run: Int) async throws -> Outcome {
    let database = try stage.needDatabase()
    try await stage.flush()
    let folder = stage.folder + "/media-\(run)"
    let settings = ["FANMILL_MEDIA_DIR": folder]
    let group = IdleGroup()
    defer { group?.remove() }
    if group == nil { stage.note("  without a control group: this user may make none") }
    let port = try FreePort.find()
    let programs = try stage.programs()
    let name = "photographer-\(run)"
    try await database.pool.execute("INSERT INTO accounts (username) VALUES (\(name)), (\(name + "-writer"))")
    let (token, writer) = (try await programs.token(of: name), try await programs.token(of: name + "-writer"))
    let api = try await programs.startAPI(port: port, settings)
    var team: [Child] = []
    for _ in 0..<workers {
      let worker = try await programs.startWorker(
        schedules: false, settings.merging(["FANMILL_QUEUES": "pictures"]) { $1 })
      try group?.add(worker)
      team.append(worker)
    }
    let other = try await programs.startWorker(
      schedules: false, settings.merging(["FANMILL_QUEUES": otherQueues]) { $1 })
    // Warm-up, for allocations and lookups that happen once.
    _ = try await posts(as: writer, port: port) { $0 >= 2 }
    let calmTail = Figure.percentile(try await posts(as: writer, port: port) { $0 >= calm }, 0.99)
    let start = ContinuousClock.now
    async let busy = posts(as: writer, port: port) { _ in
      try await database.count("SELECT count(*) FROM media_files WHERE ready") >= run * count
    }
    try await upload(picture, as: token, port: port, run)
    let uploaded = start.duration(to: .now) / .seconds(1)
    let latencies = try await busy
    let early = Int(uploaded * postsPerSecond)
    let tails = [latencies.prefix(early), latencies.dropFirst(early)].map { Figure.percentile(Array($0), 0.99) }
    stage.note(
      "  a small post's p99: \(calmTail) ms alone, \(tails[0]) while uploads come, \(tails[1]) while sizes are made")
    let seconds = start.duration(to: .now) / .seconds(1)
    let outcome = Outcome(
      ready: seconds, uploaded: uploaded, apiMegabytes: try api.usage().peakMegabytes,
      workerMegabytes: try team.map { try $0.usage().peakMegabytes }.max() ?? 0, calmTail: calmTail,
      busyTail: Figure.percentile(latencies, 0.99))
    try BenchError.check(
      "pictures that failed", try await database.count("SELECT count(*) FROM media WHERE failure IS NOT NULL"),
      equals: 0)
    for child in team + [other, api] { try await child.stop() }
    try FileManager.default.removeItem(atPath: folder)
    return outcome
  }

  /// Posts at a steady pace until `isOver` returns true; it gets the elapsed seconds.
  ///
  /// - Returns: the latency of each post in milliseconds.
  private static func posts(
    as token: String, port: Int, until isOver: @escaping @Sendable (Double) async throws -> Bool
  ) async throws -> [Double] {
    var latencies: [Double] = []
    let start = ContinuousClock.now
    var next = start
    while true {
      let gone = start.duration(to: .now) / .seconds(1)
      guard gone < limit / .seconds(1) else { throw BenchError("the pictures were not there after \(limit)") }
      // Once a second is often enough.
      if latencies.count % Int(postsPerSecond) == 0, try await isOver(gone) { return latencies }
      next += .seconds(1 / postsPerSecond)
      try await Task.sleep(until: next)
      latencies.append(
        try await onThread {
          let begin = ContinuousClock.now
          let answer = try HTTPCall.send("POST", "/v1/posts", port: port, token: token, body: #"{"title":"small"}"#)
          guard answer.status == 201 else { throw BenchError("a post was answered with \(answer.status)") }
          return begin.duration(to: .now) / .milliseconds(1)
        })
    }
  }

  /// Uploads all at once, each over its own connection. A comment makes each picture a different file.
  private static func upload(_ picture: [UInt8], as token: String, port: Int, _ run: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        group.addTask {
          try await onThread {
            let comment = Array("\(run) \(number)".utf8)
            let segment = [0xFF, 0xFE, 0, UInt8(comment.count + 2)] + comment
            let body = Array(picture[..<2]) + segment + picture[2...]
            let answer = try HTTPCall.send(
              "POST", "/v1/media", port: port, token: token, headers: ["Content-Type": "image/jpeg"], body: body)
            guard answer.status == 201 else {
              throw BenchError("an upload was answered: \(String(decoding: answer.body, as: UTF8.self))")
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
  }

  /// A JPEG of 12 megapixels and about 4 MB: soft noise, as in photographs taken in the dark.
  private static func draw(in folder: String) async throws -> [UInt8] {
    let (noise, large, bands, picture) = (
      folder + "/noise.v", folder + "/large.v", folder + "/bands.v", folder + "/picture.jpg"
    )
    for words in [
      ["gaussnoise", noise, "2000", "1500", "--mean", "128", "--sigma", "40"], ["resize", noise, large, "2"],
      ["bandjoin", "\(large) \(large) \(large)", bands], ["cast", bands, picture + "[Q=80]", "uchar"],
    ] {
      _ = try await Child.output(["/usr/bin/vips"] + words)
    }
    return Array(try Data(contentsOf: URL(fileURLWithPath: picture)))
  }
}
