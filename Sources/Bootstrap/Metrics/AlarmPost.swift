import CurlClient
import DurableJobsAdmin
import HTTPTypes
import Logging
import Reactor

/// Sends alarms to a webhook. Alarms are rare, so each opens its own client, and other processes keep none.
struct AlarmPost: Sendable {
  let webhook: AlarmWebhook
  let logger: Logger

  /// The webhook responded with a status other than 2xx.
  struct Refused: Error, CustomStringConvertible {
    let status: Int
    var description: String { "it answered with \(status)" }
  }

  /// - Throws: `Refused`, `HTTPClientError`.
  func send(_ message: AlarmMessage) async throws {
    let (request, body) = try webhook.request(message)
    try await send(request, body)
  }

  /// Sends an alarm of the app, in JSON.
  ///
  /// - Throws: `Refused`, `HTTPClientError`.
  func send(json body: [UInt8]) async throws { try await send(webhook.request(body), body) }

  private func send(_ request: HTTPRequest, _ body: [UInt8]) async throws {
    let loop = EventLoop(name: "fanmill-alarms")
    defer { loop.stop() }
    let client = try HTTPClient(configuration: AlarmWebhook.configuration, loop: loop, logger: logger)
    let status: Int
    do throws(HTTPClientError) {
      status = try await client.send(request, body: body).0.status.code
    } catch {
      await client.close()
      throw error
    }
    await client.close()
    guard 200..<300 ~= status else { throw Refused(status: status) }
  }
}
