import Foundation
import Synchronization

@testable import FanmillClient
@testable import SocialAPI

/// A transport that answers each request alike, and keeps the requests.
final class AnsweringTransport: Transport {
  private let answer: TransportResponse
  private let sent = Mutex<[TransportRequest]>([])

  /// - Parameter body: nil for the example of the outcome.
  init(_ outcome: APIOperation.Outcome, _ body: JSONLiteral? = nil) {
    let content = outcome.contents.first
    let text = body?.text ?? content?.sample.plain ?? ""
    answer = TransportResponse(
      status: outcome.status, headers: content.map { ["content-type": $0.contentType] } ?? [:], body: Data(text.utf8))
  }

  var requests: [TransportRequest] { sent.withLock(\.self) }

  /// A signed-in client.
  var client: FanmillClient {
    FanmillClient(url: Self.url, session: Session(token: "t0ken"), transport: self, retries: .none)
  }

  static let url = URL(string: "https://api.example.org/") ?? URL(filePath: "/")

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    sent.withLock { $0.append(request) }
    return answer
  }

  func upload(
    _ request: TransportRequest, from file: URL, progress: @escaping @Sendable (UploadProgress) -> Void
  ) async throws -> TransportResponse {
    var request = request
    request.body = try Data(contentsOf: file)
    return try await send(request)
  }

  func stream(_ request: TransportRequest) async throws -> TransportStream {
    let response = try await send(request)
    let chunks = AsyncStream<Data> { continuation in
      continuation.yield(response.body)
      continuation.finish()
    }
    return TransportStream(
      head: TransportHead(status: response.status, headers: response.headers), body: ByteStream(chunks))
  }
}
