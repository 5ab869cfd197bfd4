/// How requests get to the YouTube Data API: an HTTP client, or a test's script.
public protocol YouTubeTransport: Sendable {
  /// Gets `path` of the API.
  ///
  /// - Parameters:
  ///   - path: below the API's root: `search`, `channels`.
  ///   - query: names and values, not escaped. A key is among them: none of it goes into an error or a log.
  ///   - etag: sent as `If-None-Match`, byte for byte; nil for none.
  /// - Throws: `YouTubeTransportError`, `CancellationError`.
  func get(path: String, query: [(name: String, value: String)], etag: String?) async throws -> YouTubeResponse
}

/// What came back, whatever it means.
public struct YouTubeResponse: Sendable {
  public var status: Int
  /// The header, byte for byte.
  public var etag: String?
  public var body: [UInt8]

  public init(status: Int, etag: String? = nil, body: [UInt8] = []) {
    self.status = status
    self.etag = etag
    self.body = body
  }
}

/// Why nothing came back.
public struct YouTubeTransportError: Error, Sendable, CustomStringConvertible {
  /// For programs: `timeout`, `connection`, `too_large` …
  public let reason: String
  /// For people. Neither the request's query nor its headers stand in it.
  public let message: String
  /// Whether the request certainly never left: then it has cost nothing.
  public let isUnsent: Bool

  public init(_ reason: String, _ message: String, isUnsent: Bool = false) {
    self.reason = reason
    self.message = message
    self.isUnsent = isUnsent
  }

  public var description: String { "\(reason): \(message)" }
}
