import Logging
import Reactor

/// Sends mail to one server over SMTP.
///
/// Close it after use: servers hang up on clients that are silent for minutes.
public final class MailClient: Sendable {
  public let server: MailServer
  public let configuration: HTTPClientConfiguration
  private let transfers: HTTPTransfers

  /// The default configuration: a server may delay unknown clients, and scan a mail.
  public static var configuration: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.connectTimeout = .seconds(20)
    configuration.timeout = .seconds(60)
    configuration.stallTimeout = .seconds(20)
    return configuration
  }

  /// - Parameters:
  ///   - configuration: its timeouts and certificate authorities apply; the rest is for HTTP.
  ///   - loop: a dedicated loop. Closing the client blocks it until the server says goodbye.
  /// - Throws: `.unavailable` if libcurl would resolve names on the loop.
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

  /// Sends a mail and returns once the server has accepted it. It is sent at most once; resent after an error, it may
  /// arrive twice, with the same Message-ID.
  ///
  /// - Throws: `MailError`, also if the server refuses the mail.
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
