import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with Foundation's `URLSession`, on every platform that has it.
public final class URLSessionTransport: Transport {
  private let lines: URLSessionLines

  /// - Parameter configuration: the configuration of the URL sessions. Their delegate is this transport's own: the
  ///   completion handlers and `bytes(for:)` do not exist everywhere, and all of them follow redirects.
  public init(configuration: URLSessionConfiguration = URLSessionTransport.configuration) {
    lines = URLSessionLines(configuration)
  }

  deinit { lines.close() }

  /// Keeps nothing on disk, and has room for event streams beside requests: over HTTP/1.1 each takes a connection.
  public static var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 16
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    return configuration
  }

  public func send(_ request: TransportRequest) async throws -> TransportResponse {
    try await start(request).collect()
  }

  public func upload(
    _ request: TransportRequest, from file: URL, progress: @escaping @Sendable (UploadProgress) -> Void
  ) async throws -> TransportResponse {
    let response = try await lines.with(timeout: request.timeout, hasBody: true) { line in
      let task = line.session.uploadTask(with: Self.request(request), fromFile: file)
      return try line.start(Exchange(task, progress: progress), task)
    }
    return try await response.collect()
  }

  public func stream(_ request: TransportRequest) async throws -> TransportStream {
    try await start(request, limit: Exchange.streamLimit)
  }

  private func start(_ request: TransportRequest, limit: Int? = nil) async throws -> TransportStream {
    try await lines.with(timeout: request.timeout, hasBody: request.body != nil) { line in
      let task = line.session.dataTask(with: Self.request(request))
      return try line.start(Exchange(task, limit: limit), task)
    }
  }

  private static func request(_ request: TransportRequest) -> URLRequest {
    var result = URLRequest(
      url: request.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: request.timeout / .seconds(1))
    result.httpMethod = request.method
    for (name, value) in request.headers { result.setValue(value, forHTTPHeaderField: name) }
    result.httpBody = request.body
    result.httpShouldHandleCookies = false
    return result
  }
}
