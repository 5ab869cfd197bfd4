import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI
import LocalStack
import Logging
import Migrations
import PrivateServers
import ServiceLifecycle
import UnixSignals

struct UpCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "up", abstract: "Run a complete stack in this folder: private Postgres and Redis, the API, workers.",
    discussion: """
      Data, logs and settings are in .fanmill. The stack runs until Ctrl-C, or, with --detach, until `fanmill down`. \
      While it runs, other commands in this folder find it automatically. On a running stack, --workers N changes the \
      number of workers: new ones take their share at once, and surplus ones finish or hand back their jobs.
      """)

  @OptionGroup var common: CommonOptions
  @OptionGroup var migrations: MigrateCommand.MigrationsOption
  @Option(help: "The number of workers, also for a running stack; 1 at first.") var workers: Int?
  @Flag(help: "Return once the stack is ready, and leave it running in the background.") var detach = false

  func validate() throws {
    if let workers, !(1...64 ~= workers) {
      throw ValidationError("--workers is \(workers): use a number from 1 to 64")
    }
  }

  struct Report: Encodable {
    let api: String
    let dashboard: String
    let folder: String
    let settings: [String: String]
    /// The workers that are ready.
    let workers: [LocalWorker]
    /// Whether lookups use a stand-in with invented channels, because there is no key for the real service.
    let youtubeIsStandIn: Bool

    init(_ settings: [String: String], _ folder: LocalStackFolder) {
      api = "http://127.0.0.1:\(settings["FANMILL_API_PORT"] ?? "")"
      dashboard = "http://127.0.0.1:\(settings["FANMILL_ADMIN_PORT"] ?? settings["FANMILL_API_PORT"] ?? "")/admin"
      self.folder = folder.path
      // The admin token stays in its file.
      self.settings = settings.filter {
        ["FANMILL_POSTGRES_URL", "FANMILL_REDIS_URL", "FANMILL_API_PORT", "FANMILL_YOUTUBE_URL"].contains($0.key)
      }
      workers = folder.workers()
      youtubeIsStandIn = LocalStack.isStandIn(settings)
    }

    var text: String {
      """
      ready: \(api), \(workers.count) worker\(workers.count == 1 ? "" : "s")
      Dashboard: \(dashboard), its token is FANMILL_ADMIN_TOKEN in \(folder)/env.
      To fill it with accounts, pictures and threads to look at: `fanmill demo --keep`.
      Logs and settings: \(folder). In this folder, `fanmill doctor`, `fanmill queues list` and the other commands \
      find the stack; for a shell: set -a; . .fanmill/env; set +a\(youtubeIsStandIn ? standIn : "")
      """
    }

    private var standIn: String {
      "\nYouTube is a stand-in with made-up channels; set FANMILL_YOUTUBE_KEYS to use the real service."
    }
  }

  func run() async throws {
    let folder = LocalStackFolder()
    try await Program.run("fanmill", FanmillProgram.given, logLevel: common.verbose ? .debug : .warning) { program in
      do {
        // Setting a number of workers applies to the running stack, if there is one.
        if detach || (workers != nil && folder.runner != nil) {
          try await start(folder)
        } else {
          try await serve(folder, program)
        }
      } catch {
        guard let failure = FanmillProgram.failure(error) ?? CommandFailure(error) else { throw error }
        Output.complain(failure.line)
        throw failure.status
      }
    }
  }

  private func start(_ folder: LocalStackFolder) async throws {
    let settings: [String: String]
    if folder.runner != nil {
      common.output.say("it is already running")
      if let workers { try await LocalStackControl(folder).scale(to: workers) }
      settings = folder.settings()
    } else {
      settings = try await Self.start(folder, workers: workers ?? 1, migrations: migrations.folder)
    }
    try common.output.one(Report(settings, folder)) { $0.text + "\nStop it with `fanmill down`." }
  }

  /// Starts a stack in the background, with this program's settings, and waits until it is ready.
  ///
  /// - Parameter migrations: the folder of migrations; nil for this program's own.
  /// - Returns: the settings to reach the stack.
  static func start(
    _ folder: LocalStackFolder, workers: Int = 1, migrations: String?
  ) async throws -> [String: String] {
    var arguments = ["up", "--workers", String(workers)]
    if let migrations { arguments += ["--migrations", migrations] }
    for (setting, value) in FanmillProgram.given.flags { arguments += ["--\(setting.flag)", value] }
    if let file = FanmillProgram.given.file { arguments += ["--config", file] }
    return try await LocalStackControl(folder).start(arguments)
  }

  private func serve(_ folder: LocalStackFolder, _ program: Program) async throws {
    let output = common.output
    let port = program.settings.isSet(.apiPort) ? program.settings.apiPort : nil
    let stack = LocalStack(
      folder: folder, migrations: try migrations.all(), workers: workers ?? 1,
      apiPort: port == 0 ? try FreePort.find() : port, youtube: Self.youtube(program.settings),
      patience: program.settings.shutdownTimeout, logger: program.logger)
    let service = LocalStackService(stack: stack) { event in
      switch event {
      case .step(let what): output.say(what)
      case .ready(let settings):
        // The stack is known to be running; a failure to print it must not stop it.
        do { try output.one(Report(settings, folder)) { $0.text + "\nStop it with Ctrl-C." } } catch {
          Output.complain("\(error)")
        }
      case .restarted(let process, let status):
        Output.complain("\(process) ended with status \(status) and is being restarted; its log is in \(folder.path)")
      }
    }
    try await program.serve([service])
  }

  /// The settings of the real service; empty without a key for it.
  private static func youtube(_ settings: Settings) -> [String: String] {
    if settings.youtubeKeys.isEmpty { return [:] }
    return [
      Setting.youtubeURL.variable: settings.youtubeURL,
      Setting.youtubeKeys.variable: settings.youtubeKeys.map(\.value).joined(separator: ","),
    ]
  }
}

/// The stack as a service of this program, stopped by Ctrl-C.
private struct LocalStackService: Service {
  let stack: LocalStack
  let event: @Sendable (LocalStack.Event) -> Void

  func run() async throws {
    // Trapped before any process can learn where to send the signal.
    let rescales = await UnixSignalsSequence(trapping: .sigusr1)
    try await cancelWhenGracefulShutdown { try await stack.run(rescales: rescales.map { _ in }, event: event) }
  }
}

struct DownCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "down", abstract: "Stop the stack that runs in this folder; its data stays in .fanmill.")
  @OptionGroup var common: CommonOptions

  struct Report: Encodable {
    /// Whether a stack was running.
    let stopped: Bool
  }

  func run() async throws {
    try await Program.run("fanmill", FanmillProgram.given, logLevel: .critical) { _ in
      do {
        let stopped = try await LocalStackControl(LocalStackFolder()).stop()
        try common.output.one(Report(stopped: stopped)) {
          $0.stopped ? "stopped" : "no stack is running in this folder"
        }
      } catch let error as OperationError {
        Output.complain(error.message)
        throw ExitStatus.failure
      }
    }
  }
}
