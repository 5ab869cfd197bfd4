import DurableJobsAdmin
import Cryptography
import Foundation
import Glibc
import DurableJobsPostgres
import LibPQClient
import PrivateServers
import Social

/// The demo's processes: a stand-in for YouTube, the API and two workers, one of which dies.
actor DemoStage {
  private let api: LoopbackHTTP
  private let pool: PostgresPool
  private let folder: String
  /// The processes' folder of pictures.
  nonisolated var mediaFolder: String { folder + "/media" }
  private let settings: [String: String]
  private var processes: [(process: LocalProcess, running: ServerProcess)] = []
  private var tokens: [Int: String] = [:]

  private init(api: LoopbackHTTP, pool: PostgresPool, folder: String, settings: [String: String]) {
    self.api = api
    self.pool = pool
    self.folder = folder
    self.settings = settings
  }

  /// Starts the processes and waits until they are ready.
  static func set(_ servers: LocalServers, _ pool: PostgresPool, folder: String) async throws -> DemoStage {
    let youtube = try FreePort.find()
    // The demo's accounts do in a minute what real ones do in a day.
    var settings = [
      "FANMILL_POSTGRES_URL": servers.postgresURL, "FANMILL_REDIS_URL": servers.redisURL, "FANMILL_LIMITS": "off",
      "FANMILL_MEDIA_DIR": folder + "/media", "FANMILL_CERTIFICATE_KEY": [UInt8].random(count: 16).hexadecimal,
    ]
    settings.merge(LocalProcess.youtubeSettings(port: youtube)) { $1 }
    let port = try FreePort.find()
    let stage = DemoStage(api: LoopbackHTTP(port: port), pool: pool, folder: folder, settings: settings)
    do {
      try await stage.start([
        LocalProcess.youtube(port: youtube, folder: folder),
        LocalProcess.api(port: port, servers: settings, folder: folder),
        LocalProcess.worker(1, servers: settings, folder: folder),
        LocalProcess.worker(2, servers: settings, folder: folder),
      ])
    } catch {
      await stage.strike()
      throw error
    }
    return stage
  }

  private func start(_ new: [LocalProcess]) async throws {
    let known = processes.count
    for process in new { processes.append((process, try await process.start())) }
    for (process, running) in processes[known...] { try await process.waitUntilReady(running) }
  }

  /// Creates a post through the API, as an app would.
  func post(by author: DemoAuthor) async throws -> DemoPost {
    let answer = try await send(
      "POST", "/v1/posts", as: author.id,
      json: ["title": "News of \(author.username)", "description": "Posted by the demo."], expecting: 201)
    let answered = Date()
    return DemoPost(id: try answer.decode(Created.self).id, answered: answered)
  }

  private struct Created: Decodable {
    let id: Int
  }

  /// Calls the API as the account.
  ///
  /// - Throws: `.failed` for an unexpected status.
  @discardableResult
  func send(
    _ method: String, _ path: String, as account: Int, json body: [String: String]? = nil, expecting statuses: Int...
  ) async throws -> LoopbackHTTP.Answer {
    let bytes = try body.map { Array(try JSONEncoder().encode($0)) } ?? []
    return try await send(method, path, as: account, body: bytes, type: "application/json", expecting: statuses)
  }

  /// Overload for a body of any type.
  @discardableResult
  func send(
    _ method: String, _ path: String, as account: Int, body: [UInt8], type: String, expecting statuses: [Int]
  ) async throws -> LoopbackHTTP.Answer {
    let answer = try api.send(method, path, token: try await token(of: account), body: body, type: type)
    guard statuses.contains(answer.status) else {
      throw OperationError(
        .failed,
        "the API answered \(method) \(path) with \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
    }
    return answer
  }

  /// Calls the API without a session.
  func fetch(_ path: String) throws -> LoopbackHTTP.Answer { try api.send("GET", path) }

  func get<Value: Decodable & Sendable>(_ path: String, as account: Int, _ type: Value.Type) async throws -> Value {
    try await send("GET", path, as: account, expecting: 200).decode(type)
  }

  private func token(of account: Int) async throws -> String {
    if let token = tokens[account] { return token }
    let token = try await pool.transaction { try await Sessions.open(for: account, in: $0).text }
    tokens[account] = token
    return token
  }

  /// Kills the second worker mid-job, as a crash would.
  func killWorker() async {
    guard let victim = processes.last else { return }
    victim.running.send(SIGKILL)
    await victim.running.end()
    processes.removeLast()
  }

  func replaceWorker() async throws {
    try await start([LocalProcess.worker(3, servers: settings, folder: folder)])
  }

  /// The number of jobs the workers retried, by their own count.
  func repeats() throws -> Int {
    var sum = 0
    for (process, _) in processes where process.name.hasPrefix("worker") {
      let answer = try LoopbackHTTP(port: process.port).send("GET", "/metrics")
      for line in String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
      where line.hasPrefix("fanmill_job_repeats_total") {
        sum += line.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) } ?? 0
      }
    }
    return sum
  }

  /// A fan-out's last rows appear shortly before its last job ends.
  func waitUntilNothingIsPending() async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while try await JobsDatabase(pool: pool).pendingCount() > 0 {
      if .now > deadline { return }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Stops all processes gracefully and waits for them to exit.
  func strike() async {
    for (_, running) in processes { running.stop(within: .seconds(10)) }
    for (_, running) in processes { await running.end() }
    processes = []
  }
}
