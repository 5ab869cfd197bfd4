import Foundation

/// Carries HTTP requests. ``URLSessionTransport`` is the default; a server might use its own HTTP client.
///
/// A transport follows no redirects and retries nothing. It throws for a request that got no response, and
/// `CancellationError` if its task is cancelled; every status is a response.
public protocol Transport: Sendable {
  /// Sends a request and collects the response.
  func send(_ request: TransportRequest) async throws -> TransportResponse

  /// Sends a request whose body is a file, without reading the whole file into memory.
  ///
  /// - Parameter progress: is called as bytes are sent, on any thread, at the latest when all are.
  func upload(
    _ request: TransportRequest, from file: URL, progress: @escaping @Sendable (UploadProgress) -> Void
  ) async throws -> TransportResponse

  /// Sends a request and returns once the response has begun.
  ///
  /// The transport reads ahead of the consumer only a bounded amount: it slows down the server, or fails where it
  /// cannot. The connection ends when the stream is consumed, cancelled or released.
  func stream(_ request: TransportRequest) async throws -> TransportStream
}

/// An HTTP request.
public struct TransportRequest: Sendable, Hashable {
  public var method: String
  public var url: URL
  public var headers: [String: String]
  public var body: Data?
  /// The longest time without a byte from the server.
  public var timeout: Duration

  public init(
    method: String, url: URL, headers: [String: String] = [:], body: Data? = nil, timeout: Duration = .seconds(30)
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
  }
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
  /// Omits the headers and the body: they contain tokens and passwords.
  public var description: String { "\(method) \(RequestTarget.shown(url))" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The beginning of an HTTP response.
public struct TransportHead: Sendable, Hashable {
  public var status: Int
  /// The names are in lower case.
  public var headers: [String: String]

  public init(status: Int, headers: [String: String]) {
    self.status = status
    self.headers = headers
  }
}

/// An HTTP response.
public struct TransportResponse: Sendable, Hashable {
  public var status: Int
  /// The names are in lower case.
  public var headers: [String: String]
  public var body: Data

  public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  public init(_ head: TransportHead, body: Data) {
    self.init(status: head.status, headers: head.headers, body: body)
  }

  /// The content type without its parameters.
  var mediaType: String? {
    headers["content-type"]?.split(separator: ";").first.map { $0.lowercased().filter { $0 != " " } }
  }

  /// The delay that `Retry-After` asks for, which the API gives in seconds.
  var retryAfter: Duration? { headers["retry-after"].flatMap { Int($0) }.map { .seconds(max(0, $0)) } }

  /// The trace id in `traceparent` (W3C Trace Context).
  var requestID: String? {
    let parts = headers["traceparent"]?.split(separator: "-") ?? []
    return parts.count == 4 ? String(parts[1]) : nil
  }
}

/// An HTTP response whose body is still arriving.
public struct TransportStream: Sendable {
  public var head: TransportHead
  public var body: ByteStream

  public init(head: TransportHead, body: ByteStream) {
    self.head = head
    self.body = body
  }

  /// Waits for the whole body.
  ///
  /// - Parameter limit: the most bytes to collect; the rest is dropped.
  func collect(upTo limit: Int = .max) async throws -> TransportResponse {
    var data = Data()
    for try await chunk in body {
      data += chunk
      if data.count >= limit { break }
    }
    return TransportResponse(head, body: data)
  }
}

/// How much of an upload has been sent.
public struct UploadProgress: Sendable, Hashable {
  /// The bytes sent.
  public var sent: Int64
  /// The bytes to send.
  public var total: Int64

  public init(sent: Int64, total: Int64) {
    self.sent = sent
    self.total = total
  }

  /// From 0 to 1.
  public var fraction: Double { total > 0 ? Double(sent) / Double(total) : 1 }
}
