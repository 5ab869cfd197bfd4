import Cryptography
import DurableJobsAdmin
import Foundation
import Glibc
import Logging
import Migrations
import PrivateServers

/// A complete Fanmill on this machine: private servers, the API, workers. All of it stops with `run`.
public struct LocalStack: Sendable {
  /// An event to report to the viewer.
  public enum Event: Sendable {
    case step(String)
    /// All processes are ready; the settings say how to reach them.
    case ready(settings: [String: String])
    /// A process exited unexpectedly and is restarted.
    case restarted(process: String, status: Int32)
  }

  public let folder: LocalStackFolder
  private let migrations: [Migration]
  private let logger: Logger
  private let workers: Int
  /// nil takes 8080 if it is free, else any other port.
  private let apiPort: Int?
  /// The settings for YouTube; if empty, a stand-in is used.
  private let youtube: [String: String]
  /// How long processes have to finish running work.
  private let patience: Duration

  /// - Parameter youtube: the settings of the real service, by variable; if empty, a stand-in is started.
  public init(
    folder: LocalStackFolder, migrations: [Migration], workers: Int, apiPort: Int?, youtube: [String: String],
    patience: Duration, logger: Logger
  ) {
    self.folder = folder
    self.migrations = migrations
    self.logger = logger
    self.workers = max(1, workers)
    self.apiPort = apiPort
    self.youtube = youtube
    self.patience = patience
  }

  /// Whether a running stack's settings use a stand-in for YouTube.
  public static func isStandIn(_ settings: [String: String]) -> Bool {
    settings["FANMILL_YOUTUBE_KEYS"] == LocalProcess.youtubeSettings(port: 0)["FANMILL_YOUTUBE_KEYS"]
  }

  /// Runs the stack until the task is cancelled, then stops it gracefully: API and workers, Redis, Postgres.
  ///
  /// - Parameter rescales: on each element, the number of workers changes to the one stored in the folder; the stack
  ///   ends when the sequence ends.
  /// - Throws: `.conflict` if the stack is already running; the error that keeps it from starting.
  public func run(
    rescales: some AsyncSequence<Void, Never> & Sendable, event: @escaping @Sendable (Event) -> Void
  ) async throws {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    // An explicitly set secret wins. Otherwise the folder's own is kept, so that operators' notes, and the keys sealed
    // in the database, remain valid.
    let (given, kept) = (ProcessInfo.processInfo.environment, folder.settings())
    var secrets: [String: String] = [:]
    for name in ["FANMILL_ADMIN_TOKEN", "FANMILL_CERTIFICATE_KEY"] {
      secrets[name] = given[name] ?? kept[name] ?? Self.freshToken()
    }
    folder.removeSettings()
    event(.step("starting Postgres and Redis in \(folder.path)"))
    let servers = try await LocalServers.start(in: folder.path)
    let outcome: Result<Void, any Error>
    do {
      event(.step("migrating the database to the newest schema"))
      try await servers.withPool(logger: logger) { pool in
        _ = try await DatabaseMigrator(migrations, pool: pool).up()
      }
      try await runProcesses(servers, secrets, rescales, event)
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    folder.removeSettings()
    event(.step("stopping Redis and Postgres"))
    await servers.stop()
    do { try outcome.get() } catch is CancellationError {}
  }

  private func runProcesses(
    _ servers: LocalServers, _ secrets: [String: String], _ rescales: some AsyncSequence<Void, Never> & Sendable,
    _ event: @escaping @Sendable (Event) -> Void
  ) async throws {
    try Task.checkCancellation()
    let port = try apiPort ?? (FreePort.isFree(8080) ? 8080 : FreePort.find())
    var settings = [
      "FANMILL_POSTGRES_URL": servers.postgresURL, "FANMILL_REDIS_URL": servers.redisURL,
      "FANMILL_API_PORT": String(port),
    ]
    settings.merge(secrets) { $1 }
    for (name, value) in ProcessInfo.processInfo.environment where name.hasPrefix("FANMILL_") {
      settings.merge([name: value]) { own, _ in own }
    }
    // This stack's own pictures, mail and addresses, unless set explicitly.
    let own = [
      "FANMILL_MEDIA_DIR": folder.path + "/media", "FANMILL_MAIL_URL": "file:\(folder.path)/mail",
      "FANMILL_PUBLIC_URL": "http://127.0.0.1:\(port)",
    ]
    settings.merge(own) { given, _ in given }
    var processes: [LocalProcess] = []
    if youtube.isEmpty {
      let port = try FreePort.find()
      processes.append(try LocalProcess.youtube(port: port, folder: folder.path))
      settings.merge(LocalProcess.youtubeSettings(port: port)) { $1 }
      event(.step("starting a stand-in for YouTube, with made-up channels: FANMILL_YOUTUBE_KEYS is not set"))
    } else {
      settings.merge(youtube) { $1 }
    }
    // Each worker's port is chosen here; a setting for one process must not reach all of them.
    settings["FANMILL_WORKER_PORT"] = nil
    processes.append(try LocalProcess.api(port: port, servers: settings, folder: folder.path))
    event(.step("starting the API and \(workers) worker\(workers > 1 ? "s" : "")"))
    let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
    let team = LocalWorkers(folder: folder, settings: settings, patience: patience, event: event)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for process in processes {
        group.addTask { try await keepRunning(process, whenReady: { isReady.yield() }, event) }
      }
      team.want(workers)
      group.addTask { try await team.run { isReady.yield() } }
      group.addTask {
        for await _ in rescales {
          if let wanted = folder.wantedWorkers { team.want(wanted) }
        }
      }
      let (count, known) = (processes.count + workers, settings)
      group.addTask {
        var waiting = ready.makeAsyncIterator()
        for _ in 0..<count where await waiting.next() == nil { return }
        try folder.write(known)
        event(.ready(settings: known))
        // Wait for the others to end: an earlier return would look like a process that exited.
        while await waiting.next() != nil {}
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Restarts a process whenever it exits, until the task is cancelled; then stops it.
  private func keepRunning(
    _ process: LocalProcess, whenReady: @Sendable () -> Void, _ event: @Sendable (Event) -> Void
  ) async throws {
    var pause = RestartPause()
    while true {
      let status = try await process.serve(try await process.start(), patience: patience, whenReady: whenReady)
      event(.restarted(process: process.name, status: status))
      try await pause.wait()
    }
  }

  /// 32 hexadecimal digits.
  private static func freshToken() -> String {
    [UInt8].random(count: 16).hexadecimal
  }
}
