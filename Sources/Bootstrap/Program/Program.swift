import ArgumentParser
import DurableJobs
import Logging
import Metrics
import OTLPTracing
import ServiceLifecycle
import UnixSignals

/// The environment of a Fanmill program once its settings are read: logger, metrics and server connections.
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
  /// The version of all Fanmill programs.
  public static let version = "0.1.0"

  public let name: String
  public let settings: Settings
  public let logger: Logger
  public let registry: PrometheusRegistry
  /// Whether people run it interactively: a command ends when Postgres stops responding.
  private(set) var isCommand: Bool
  /// Sends spans to a collector; nil where none is set.
  var tracer: OTLPTracer?
  /// How long to wait for a server to come up.
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

  /// Reads the settings, starts logging and metrics, and runs `body`.
  ///
  /// Call it once per process. An error becomes one line on standard error and an exit status: 78 for a setting, 69 for
  /// unreachable servers, 1 for the rest.
  ///
  /// - Parameters:
  ///   - name: the beginning of the line.
  ///   - required: the settings that `body` needs.
  ///   - logLevel: the log level unless a setting overrides it.
  ///   - isCommand: whether people run it. Log settings in the environment then apply only to the servers beside it.
  /// - Throws: `ExitCode`, or an error that ArgumentParser displays itself.
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

  /// The same program, but kept running while Postgres is down, for a live screen that reports the outage itself.
  public var throughOutages: Program {
    var program = self
    program.isCommand = false
    return program
  }

  /// Runs the services until the process is asked to stop (SIGTERM or SIGINT), then stops them in reverse order.
  public func serve(_ services: [any Service]) async throws {
    var configuration = ServiceGroupConfiguration(
      // The tracer stops last, with the spans of what stopped before.
      services: ([tracer].compactMap(\.self) + services).map { service in
        // A service's default description would dump all of its contents.
        .init(
          // Any other service that ends unprompted fails the process.
          service: service,
          successTerminationBehavior: service is any SelfEndingService ? .gracefullyShutdownGroup : .cancelGroup,
          serviceName: String(describing: type(of: service)))
      },
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    // Each service enforces the limit itself; this is for one that does not.
    configuration.maximumGracefulShutdownDuration = settings.shutdownTimeout + .seconds(5)
    try await ServiceGroup(configuration: configuration).run()
  }
}
