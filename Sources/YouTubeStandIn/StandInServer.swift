import Hummingbird
import Logging
import ServiceLifecycle

/// The stand-in as an HTTP server. It runs until its task is cancelled or the process is asked to stop.
public struct StandInServer: Service {
  private let application: Application<RouterResponder<BasicRequestContext>>

  /// - Parameters:
  ///   - port: 0 for any free port.
  ///   - onListening: receives the port once the server listens.
  public init(
    control: StandInControl, host: String = "127.0.0.1", port: Int = 0,
    onListening: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    let router = Router(context: BasicRequestContext.self)
    StandInRoutes(control: control).add(to: router)
    application = Application(
      responder: router.buildResponder(),
      configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: "stand-in"),
      onServerRunning: { channel in onListening(channel.localAddress?.port ?? port) },
      // Aborted connections are intentional here, and queries contain keys: neither belongs in a log.
      logger: Logger(label: "youtube") { _ in SwiftLogNoOpLogHandler() })
  }

  public func run() async throws { try await application.run() }
}
