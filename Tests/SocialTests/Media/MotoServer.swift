import CurlClient
import Foundation
import HTTPTypes
import PrivateServers
import TestSupport
import Testing

@testable import Social

/// A moto server, which speaks S3's protocol, on a separate port. It ends with the process.
final class MotoServer: Sendable {
  let port: Int
  private let process: ServerProcess

  /// The server shared by tests that need no signature checks; each makes its own bucket.
  static func shared() async throws -> MotoServer { try await servers.shared() }

  private static let servers = Servers()

  private actor Servers {
    private var start: Task<MotoServer, any Error>?

    func shared() async throws -> MotoServer {
      let start = start ?? Task { try await MotoServer.start() }
      self.start = start
      return try await start.value
    }
  }

  private init(port: Int, process: ServerProcess) { (self.port, self.process) = (port, process) }

  static func start() async throws -> MotoServer {
    let log = FileManager.default.temporaryDirectory.appending(path: "fanmill-moto-\(UUID()).log").path
    let port = try FreePort.find()
    let plan = ServerProcess.Plan(
      program: try tool("moto_server"), arguments: ["-H", "127.0.0.1", "-p", "\(port)"], log: log, folder: "/")
    let server = MotoServer(port: port, process: try await ServerProcess.start(plan))
    try await withHTTP { client in
      try await eventually("moto answers; its log is \(log)") {
        try #require(!server.process.hasEnded, "moto ended; its log is \(log)")
        do throws(HTTPClientError) {
          return try await client.send(server.request(.get, "/moto-api/data.json")).0.status == .ok
        } catch {
          return false
        }
      }
    }
    try FileManager.default.removeItem(atPath: log)
    return server
  }

  func stop() async {
    process.send(SIGKILL)
    await process.end()
  }

  /// A program in the tools' folder.
  static func tool(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
    let path = root.appending(path: ".build-tools/bin/\(name)").path
    try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is missing: `make setup` installs it")
    return path
  }

  func request(_ method: HTTPRequest.Method, _ path: String, fields: HTTPFields = [:]) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:\(port)", path: path, headerFields: fields)
  }

  /// The URL of a bucket.
  func url(_ bucket: String, credentials: String = "key:secret") -> String {
    "s3+http://\(credentials)@127.0.0.1:\(port)/\(bucket)"
  }

  /// Makes a bucket with a unique name.
  func makeBucket() async throws -> String {
    let name = "bucket-\(UUID().uuidString.lowercased())"
    try await send(request(.put, "/\(name)"))
    return name
  }

  /// From here on every request must be signed with the key of a user with permission for `actions`.
  ///
  /// - Returns: the key and its secret, in the form of a URL.
  func requireSignatures(allowing actions: [String]) async throws -> String {
    let policy = """
      {"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":\(try json(actions)),"Resource":"*"}]}
      """
    _ = try await iam([("Action", "CreateUser"), ("UserName", "app")])
    _ = try await iam([
      ("Action", "PutUserPolicy"), ("UserName", "app"), ("PolicyName", "app"), ("PolicyDocument", policy),
    ])
    let answer = try await iam([("Action", "CreateAccessKey"), ("UserName", "app")])
    var (key, secret) = ("", "")
    try XMLScanner.scan(answer) { path, text in
      if path.hasSuffix("/AccessKeyId") { key = text }
      if path.hasSuffix("/SecretAccessKey") { secret = text }
    }
    try #require(!key.isEmpty && !secret.isEmpty)
    try await send(request(.post, "/moto-api/reset-auth"), body: Array("0".utf8))
    return "\(key):\(secret)"
  }

  private func json(_ value: [String]) throws -> String {
    String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  }

  private func iam(_ form: [(String, String)]) async throws -> [UInt8] {
    let scope = "Credential=any/20260101/us-east-1/iam/aws4_request"
    let fields: HTTPFields = [
      .contentType: "application/x-www-form-urlencoded",
      .authorization: "AWS4-HMAC-SHA256 \(scope), SignedHeaders=host, Signature=any",
    ]
    let body = form.map { "\($0.0)=\($0.1.percentEncoded())" }.joined(separator: "&")
    return try await send(request(.post, "/", fields: fields), body: Array(body.utf8))
  }

  @discardableResult
  private func send(_ request: HTTPRequest, body: [UInt8] = []) async throws -> [UInt8] {
    let answer = Box()
    try await withHTTP { client in
      let (response, bytes) = try await client.send(request, body: body)
      try #require(response.status == .ok, "\(String(decoding: bytes, as: UTF8.self))")
      answer.bytes = bytes
    }
    return answer.bytes
  }

  private final class Box { var bytes: [UInt8] = [] }
}

/// Runs `body` with an HTTP client configured as for a store, whose limits no slow machine reaches.
func withHTTP(_ body: (HTTPClient) async throws -> Void) async throws {
  var configuration = S3Store.configuration
  configuration.connectTimeout = .seconds(120)
  configuration.timeout = .seconds(240)
  configuration.stallTimeout = .seconds(120)
  let client = try HTTPClient(configuration: configuration, loop: loop, logger: logger)
  let outcome: Result<Void, any Error>
  do { outcome = .success(try await body(client)) } catch { outcome = .failure(error) }
  await client.close()
  try outcome.get()
}
