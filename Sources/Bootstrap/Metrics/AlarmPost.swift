import CurlClient
import HTTPTypes
import Logging
import Operations
import Reactor

/// Sends alarms' messages. They are few, so each has a client of its own, and no process that sends none keeps one.
struct AlarmPost: Sendable {
  let logger: Logger

  /// - Returns: the status of the answer.
  func send(_ request: HTTPRequest, _ body: [UInt8]) async throws -> Int {
    let loop = EventLoop(name: "fanmill-alarms")
    defer { loop.stop() }
    let client = try HTTPClient(configuration: AlarmWebhook.configuration, loop: loop, logger: logger)
    do throws(HTTPClientError) {
      let (response, _) = try await client.send(request, body: body)
      await client.close()
      return response.status.code
    } catch {
      await client.close()
      throw error
    }
  }
}
