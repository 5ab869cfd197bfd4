/// Sends requests to the YouTube Data API: an HTTP client, or a test double.
public protocol YouTubeTransport: Sendable {
  /// Gets `path` of the API.
  ///
  /// - Parameters:
  ///   - path: below the API's root: `search`, `channels`.
  ///   - query: unescaped names and values. They include a key, so no error or log may contain them.
  ///   - etag: sent as `If-None-Match`, byte for byte; nil for none.
  /// - Throws: `YouTubeTransportError`, `CancellationError`.
  func get(path: String, query: [(name: String, value: String)], etag: String?) async throws -> YouTubeResponse
}

/// A response, whatever its status.
public struct YouTubeResponse: Sendable {
  public var status: Int
  /// The header's value, byte for byte.
  public var etag: String?
  public var body: [UInt8]

  public init(status: Int, etag: String? = nil, body: [UInt8] = []) {
    self.status = status
    self.etag = etag
    self.body = body
  }
}

/// The reason that no response arrived.
public struct YouTubeTransportError: Error, Sendable, CustomStringConvertible {
  /// For programs: `timeout`, `connection`, `too_large` …
  public let reason: String
  /// For display. It contains neither the request's query nor its headers.
  public let message: String
  /// Whether the request was certainly not sent, and so cost nothing.
  public let isUnsent: Bool

  public init(_ reason: String, _ message: String, isUnsent: Bool = false) {
    self.reason = reason
    self.message = message
    self.isUnsent = isUnsent
  }

  public var description: String { "\(reason): \(message)" }
}
