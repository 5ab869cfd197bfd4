import Cryptography
import DurableJobsAdmin
import Foundation
import Glibc
import Logging
import Migrations
import PrivateServers

/// A whole Fanmill on this machine: private servers, the API, workers. Nothing of it outlives `run`.
public struct LocalStack: Sendable {
  /// Something that happened, to be told to whoever watches.
  public enum Event: Sendable {
    case step(String)
    /// All processes can work; the settings say how to reach them.
    case ready(settings: [String: String])
    /// A process ended unasked and is started again.
    case restarted(process: String, status: Int32)
  }

  public let folder: LocalStackFolder
  private let migrations: [Migration]
  private let logger: Logger
  private let workers: Int
  /// nil takes 8080 if it is free, else any other.
  private let apiPort: Int?
  /// The settings for YouTube; empty is a stand-in.
  private let youtube: [String: String]
  /// How long processes get to finish what they began.
  private let patience: Duration

  /// - Parameter youtube: the settings by which the real service is reached, by variable; without any a stand-in is
  ///   started.
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

  /// Whether these settings of a running stack point at a stand-in for YouTube.
  public static func isStandIn(_ settings: [String: String]) -> Bool {
    settings["FANMILL_YOUTUBE_KEYS"] == LocalProcess.youtubeSettings(port: 0)["FANMILL_YOUTUBE_KEYS"]
  }

  /// Runs the stack until the task is cancelled, then stops it in order: API and workers, Redis, Postgres.
  ///
  /// - Parameter rescales: each time, the number of workers becomes the one that the folder says is wanted; ends the
  ///   stack if it ends.
  /// - Throws: `.conflict` if it runs already; what keeps it from starting.
  public func run(
    rescales: some AsyncSequence<Void, Never> & Sendable, event: @escaping @Sendable (Event) -> Void
  ) async throws {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    // Who sets one means it; else the folder's own stays, so that an operator's notes, and the keys that the database
    // has sealed with it, go on working.
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
      event(.step("bringing the database to the newest schema"))
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
    // Pictures, mail and addresses of this stack, unless they are to be others.
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
    // Which worker listens where is decided here; what is for one process must not be passed on to all.
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
        // Ends with the others: it must not look as if one of them had ended.
        while await waiting.next() != nil {}
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Runs a process again and again, until the task is cancelled; then ends it.
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
