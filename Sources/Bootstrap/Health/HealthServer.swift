import Hummingbird
import Logging
import ServiceLifecycle

/// Serves a process's health and metrics on a port of their own: for the worker, which has no other.
public struct HealthServer: Service {
  private let application: Application<RouterResponder<BasicRequestContext>>

  /// - Parameters:
  ///   - port: 0 for any free one.
  ///   - onRunning: gets the port once it is listened on.
  public init(
    health: Health, host: String, port: Int, logger: Logger, onRunning: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    let router = Router()
    health.addRoutes(to: router)
    application = Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
      onServerRunning: { channel in onRunning(channel.localAddress?.port ?? port) }, logger: logger)
  }

  public func run() async throws {
    try await application.run()
  }
}
