import Foundation

/// Sidekiq as packaged by Debian, doing the same work on the same Redis.
struct Sidekiq: Sendable {
  /// A worker's output after all its jobs.
  struct Tally: Decodable {
    var count: Int
    /// In nanoseconds: the start of its first job and the end of its last one.
    var first: Int64
    var last: Int64
    /// Nanoseconds from enqueueing to the handler.
    var samples: [Int64]

    var seconds: Double { Double(last - first) / 1e9 }
  }

  private struct Enqueued: Decodable {
    var count: Int
    var seconds: Double
  }

  private let redisURL: String
  private let scripts: String
  private let folder: String

  /// nil if Sidekiq is not installed.
  static func find(redisSocket: String, folder: String) async throws -> Sidekiq? {
    guard try await versions() != nil else { return nil }
    let places = ["Benchmarks/Sidekiq", "Sidekiq"]
    guard let scripts = places.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
      throw BenchError("Sidekiq's scripts are not here: run the benchmark in the project's folder or Benchmarks/")
    }
    let path = URL(fileURLWithPath: scripts).standardizedFileURL.path
    return Sidekiq(redisURL: "unix://\(redisSocket)", scripts: path, folder: folder)
  }

  static func versions() async throws -> (ruby: String, sidekiq: String)? {
    guard FileManager.default.isExecutableFile(atPath: ruby), FileManager.default.isExecutableFile(atPath: sidekiq)
    else { return nil }
    let text = try await Child.output([ruby, "-e", #"require "sidekiq"; puts RUBY_VERSION, Sidekiq::VERSION"#])
    let lines = text.split(separator: "\n").map(String.init)
    return lines.count == 2 ? (lines[0], lines[1]) : nil
  }

  private static let ruby = "/usr/bin/ruby"
  private static let sidekiq = "/usr/bin/sidekiq"

  /// Enqueues jobs and returns the rate per second.
  ///
  /// - Parameter mode: `bulk` (a thousand per call), `single`, or `paced` at `rate` a second.
  func enqueue(_ mode: String, count: Int, rate: Int? = nil) async throws -> Double {
    let words = [Self.ruby, scripts + "/enqueue.rb", mode, "\(count)"] + (rate.map { ["\($0)"] } ?? [])
    let text = try await Child.output(words, environment: ["BENCH_REDIS": redisURL])
    let enqueued = try JSONDecoder().decode(Enqueued.self, from: Data(text.utf8))
    try BenchError.check("Sidekiq enqueued", enqueued.count, equals: count)
    return Double(count) / enqueued.seconds
  }

  /// Starts one process with Sidekiq's default ten threads. It writes its tally after `total` jobs.
  func startWorker(total: Int) async throws -> Child {
    if FileManager.default.fileExists(atPath: result) { try FileManager.default.removeItem(atPath: result) }
    return try await Child.start(
      [Self.sidekiq, "-r", scripts + "/worker.rb", "-c", "10", "-q", "default"],
      environment: [
        "BENCH_REDIS": redisURL, "BENCH_TOTAL": "\(total)", "BENCH_RESULT": result, "RUBYOPT": "-W0",
      ])
  }

  /// Waits for the worker's tally and returns it.
  func tally(of worker: Child, total: Int) async throws -> Tally {
    let deadline = ContinuousClock.now + .seconds(120)
    while !FileManager.default.fileExists(atPath: result) {
      guard worker.isRunning, .now < deadline else { throw BenchError("Sidekiq did not do its \(total) jobs") }
      try await Task.sleep(for: .milliseconds(5))
    }
    let tally = try JSONDecoder().decode(Tally.self, from: Data(contentsOf: URL(fileURLWithPath: result)))
    try BenchError.check("jobs done by Sidekiq", tally.count, equals: total)
    return tally
  }

  private var result: String { folder + "/sidekiq.json" }
}
