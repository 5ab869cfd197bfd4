import CurlClient
import Logging
import Reactor

/// Hands mails to a server. They are few, so each has a client of its own, and no process that sends none keeps one.
public struct MailPost: Sendable {
  private let server: MailServer
  private let logger: Logger

  public init(server: MailServer, logger: Logger) {
    self.server = server
    self.logger = logger
  }

  /// - Throws: `MailError`.
  public func send(_ message: MailMessage) async throws {
    let loop = EventLoop(name: "fanmill-mail")
    defer { loop.stop() }
    let client = try MailClient(server: server, loop: loop, logger: logger)
    do throws(MailError) {
      try await client.send(message)
    } catch {
      await client.close()
      throw error
    }
    await client.close()
  }
}
