import ArgumentParser
import DurableJobs
import Logging
import Metrics
import ServiceLifecycle
import UnixSignals

/// What a program of Fanmill has at hand once its settings are read: a logger, metrics, and the way to its servers.
///
/// ```swift
/// @main struct WorkerProgram: AsyncParsableCommand {
///   @OptionGroup var options: SettingsOptions
///
///   func run() async throws {
///     try await Program.run("fanmill-worker", options, requiring: [.postgresURL, .redisURL]) { program in
///       try await program.withServers { servers in
///         try await program.serve([…])
///       }
///     }
///   }
/// }
/// ```
public struct Program: Sendable {
  /// Of all programs of Fanmill.
  public static let version = "0.1.0"

  public let name: String
  public let settings: Settings
  public let logger: Logger
  public let registry: PrometheusRegistry
  /// Whether people run it and wait for its end: it ends when Postgres stops answering.
  private(set) var isCommand: Bool
  /// How long a server may take to come up.
  let patience: Duration

  init(
    name: String, settings: Settings, logger: Logger, registry: PrometheusRegistry = PrometheusRegistry(),
    isCommand: Bool = false, patience: Duration = .seconds(5)
  ) {
    self.name = name
    self.settings = settings
    self.logger = logger
    self.registry = registry
    self.isCommand = isCommand
    self.patience = patience
  }

  /// Reads the settings, starts the log and the metrics, runs `body`.
  ///
  /// Call it once in a process. An error becomes one line on the standard error output and an exit status: 78 for a
  /// setting, 69 for servers that cannot be reached, 1 for the rest.
  ///
  /// - Parameters:
  ///   - name: begins the line.
  ///   - required: the settings without which `body` cannot do its work.
  ///   - logLevel: what is logged unless a setting says otherwise.
  ///   - isCommand: whether people run it. What the environment says of the log is then meant for the servers beside
  ///     it.
  /// - Throws: `ExitCode`, or what ArgumentParser itself knows how to show.
  public static func run(
    _ name: String, _ options: some GivenSettings, requiring required: [Setting] = [], logLevel: Logger.Level = .info,
    isCommand: Bool = false, _ body: (Program) async throws -> Void
  ) async throws {
    do {
      var settings = try options.settings(requiring: required)
      let source = settings.sources[.logLevel]
      if source == nil || (isCommand && source == .environment) { settings.logLevel = logLevel }
      let started = settings
      LoggingSystem.bootstrap { label in
        LineLogHandler(
          label: label, format: started.logFormat, level: started.logLevel, secrets: started.secrets,
          metadataProvider: .trace)
      }
      PayloadLimit.set(started.jobsPayloadLimit)
      let program = Program(name: name, settings: settings, logger: Logger(label: name), isCommand: isCommand)
      MetricsSystem.bootstrap(program.registry)
      MetricCatalog.describe(in: program.registry)
      ProcessMetrics.install(in: program.registry)
      try await body(program)
    } catch {
      guard let failure = ProgramFailure(error) else { throw error }
      LineLogHandler.writeToStandardError("\(name): \(failure.line)\n")
      throw failure.status
    }
  }

  /// The same program, but one that goes on while Postgres does not answer, as a live screen does that says so itself.
  public var throughOutages: Program {
    var program = self
    program.isCommand = false
    return program
  }

  /// Runs the services until the process is asked to stop (SIGTERM or SIGINT), then stops them, the last one first.
  public func serve(_ services: [any Service]) async throws {
    var configuration = ServiceGroupConfiguration(
      services: services.map { service in
        // The description of a service would show all that it holds.
        .init(
          // Whatever else ends without being asked to fails the process.
          service: service,
          successTerminationBehavior: service is any SelfEndingService ? .gracefullyShutdownGroup : .cancelGroup,
          serviceName: String(describing: type(of: service)))
      },
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    // Each service keeps to the limit by itself; this is for the one that does not.
    configuration.maximumGracefulShutdownDuration = settings.shutdownTimeout + .seconds(5)
    try await ServiceGroup(configuration: configuration).run()
  }
}
