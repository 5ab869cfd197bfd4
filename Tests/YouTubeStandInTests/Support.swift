import CurlClient
import Foundation
import HTTPTypes
import Locking
import Logging
import Reactor
import Testing

@testable import YouTubeStandIn

/// The stand-in and a client for it.
struct Stage: Sendable {
  struct Answer: @unchecked Sendable {
    // `@unchecked Sendable`: `json` comes from JSONSerialization and never changes.
    let status: Int
    let etag: String?
    let bytes: [UInt8]
    let json: [String: Any]

    var items: [[String: Any]]? { json["items"] as? [[String: Any]] }
    /// The error's reason in the older format, and in the newer.
    var reasons: [String] {
      let error = json["error"] as? [String: Any] ?? [:]
      return ((error["errors"] as? [[String: Any]] ?? []) + (error["details"] as? [[String: Any]] ?? []))
        .compactMap { $0["reason"] as? String }
    }
    var message: String { (json["error"] as? [String: Any])?["message"] as? String ?? "" }
  }

  let client: HTTPClient
  let port: Int

  func get(_ path: String, etag: String? = nil) async throws -> Answer {
    var request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(port)", path: path)
    if let etag { request.headerFields[.ifNoneMatch] = etag }
    let (response, bytes) = try await client.send(request)
    var json: [String: Any] = [:]
    do { json = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] ?? [:] } catch {}
    return Answer(
      status: response.status.code, etag: response.headerFields[.eTag], bytes: bytes, json: json)
  }

  func search(_ query: String, key: String = "K", etag: String? = nil) async throws -> Answer {
    let escaped = query.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return try await get("/youtube/v3/search?part=id,snippet&type=channel&q=\(escaped)&key=\(key)", etag: etag)
  }

  func channels(_ filter: String, key: String = "K", etag: String? = nil) async throws -> Answer {
    try await get("/youtube/v3/channels?part=id,snippet,statistics&\(filter)&key=\(key)", etag: etag)
  }

  func control(_ body: String) async throws -> Int {
    var request = HTTPRequest(method: .post, scheme: "http", authority: "127.0.0.1:\(port)", path: "/control")
    request.headerFields[.contentType] = "application/json"
    return try await client.send(request, body: Array(body.utf8)).0.status.code
  }
}

/// Runs `body` with its own stand-in.
func withStandIn(
  _ configure: (inout StandInConfiguration) -> Void = { _ in },
  client configureClient: (inout HTTPClientConfiguration) -> Void = { _ in },
  now: @escaping @Sendable () -> Date = { Date() }, _ body: @Sendable (Stage) async throws -> Void
) async throws {
  var configuration = StandInConfiguration()
  configure(&configuration)
  var clientConfiguration = HTTPClientConfiguration()
  configureClient(&clientConfiguration)
  let loop = EventLoop(name: "youtube-test")
  let client = try HTTPClient(
    configuration: clientConfiguration, loop: loop, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  let (ports, port) = AsyncStream.makeStream(of: Int.self)
  let server = StandInServer(control: StandInControl(configuration: configuration, now: now)) { port.yield($0) }
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await server.run() }
    var listening = ports.makeAsyncIterator()
    let found = try #require(await listening.next())
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(Stage(client: client, port: found))) } catch { outcome = .failure(error) }
    await client.close()
    group.cancelAll()
    try outcome.get()
  }
  loop.stop()
}
