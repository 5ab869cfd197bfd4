import Hummingbird
import HummingbirdCore
import Locking
import Logging
import ServiceLifecycle

/// An HTTP server as a service: the API, or a worker's health and metrics.
public struct HTTPService<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
  private let application: Application<Responder>
  private let memory: ConnectionMemory
  private let address: String
  private let setting: Setting
  private let isListening: Locked<Bool>

  /// - Parameters:
  ///   - port: 0 for any free port.
  ///   - setting: the setting to change if the port is taken.
  ///   - limits: limits on clients' connections.
  ///   - onListening: receives the port once the server listens.
  public init(
    responder: Responder, host: String, port: Int, setting: Setting,
    limits: ConnectionLimits = ConnectionLimits(), logger: Logger,
    onListening: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    let isListening = Locked(false)
    let book = ConnectionBook(limits)
    application = Application(
      responder: responder,
      server: HTTPServerBuilder { responder in
        GuardedChannel(http: HTTP1Channel(responder: responder), limits: limits, book: book)
      },
      configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: "fanmill"),
      onServerRunning: { channel in
        isListening.withLock { $0 = true }
        onListening(channel.localAddress?.port ?? port)
      },
      logger: logger)
    memory = ConnectionMemory(book: book)
    self.isListening = isListening
    self.setting = setting
    address = "\(host):\(port)"
  }

  public func run() async throws {
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { [memory] in await memory.run() }
        defer { group.cancelAll() }
        try await application.run()
      }
    } catch {
      if isListening.withLock({ $0 }) || error is CancellationError { throw error }
      throw ListenFailure(address: address, setting: setting, reason: "\(error)")
    }
  }
}

/// A port that cannot be opened, usually because another process has it.
struct ListenFailure: Error, CustomStringConvertible {
  let address: String
  let setting: Setting
  let reason: String

  var description: String { "cannot listen on \(address) (set by \(setting.variable)): \(reason)" }
}
