import Logging
import Reactor

/// Hands mail to one server, by SMTP.
///
/// Close it after use: a server hangs up on a client that is silent for minutes.
public final class MailClient: Sendable {
  public let server: MailServer
  public let configuration: HTTPClientConfiguration
  private let transfers: HTTPTransfers

  /// How a client should be configured: a server may keep strangers waiting, and look into a mail.
  public static var configuration: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.connectTimeout = .seconds(20)
    configuration.timeout = .seconds(60)
    configuration.stallTimeout = .seconds(20)
    return configuration
  }

  /// - Parameters:
  ///   - configuration: its times and authorities; the rest is HTTP's.
  ///   - loop: one of its own. Closing the client waits on it for the server's farewell.
  /// - Throws: `.unavailable` where libcurl would look names up on the loop.
  public init(
    server: MailServer, configuration: HTTPClientConfiguration = MailClient.configuration, loop: EventLoop,
    logger: Logger
  ) throws(MailError) {
    self.server = server
    self.configuration = configuration
    do throws(HTTPClientError) {
      transfers = try HTTPClient(configuration: configuration, loop: loop, logger: logger).transfers
    } catch {
      throw MailError(error)
    }
  }

  /// Hands a mail over and returns when the server has taken it. It is sent at most once; sent again after an error, it
  /// may arrive twice, under one Message-ID.
  ///
  /// - Throws: `MailError`, also for a server that does not take it.
  public nonisolated(nonsending) func send(_ message: MailMessage) async throws(MailError) {
    do throws(HTTPClientError) {
      try await transfers.perform(MailTransfer(message, server, configuration))
    } catch {
      throw MailError(error)
    }
  }

  public func close() async {
    await transfers.close()
  }
}
