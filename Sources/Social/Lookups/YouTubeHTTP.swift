import CurlClient
import Foundation
import HTTPTypes

/// Calls the YouTube Data API over HTTP.
public struct YouTubeHTTP: YouTubeTransport {
  private let client: HTTPClient
  private let scheme: String
  private let authority: String
  private let root: String

  /// The configuration for the client: lookups are waiting, and responses are small.
  public static var configuration: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.timeout = .seconds(10)
    configuration.stallTimeout = .seconds(5)
    configuration.maximumBodyBytes = 1 << 20
    return configuration
  }

  /// - Parameter url: the server, or the full base URL of the API, `…/youtube/v3`.
  /// - Returns: nil if it is not such a URL.
  public init?(url: String, client: HTTPClient) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme, let host = parts.host, !host.isEmpty else {
      return nil
    }
    self.client = client
    self.scheme = scheme
    authority = parts.port.map { "\(host):\($0)" } ?? host
    let path = parts.percentEncodedPath.split(separator: "/").joined(separator: "/")
    root = path.isEmpty ? "/youtube/v3" : path.hasSuffix("youtube/v3") ? "/\(path)" : "/\(path)/youtube/v3"
  }

  public func get(
    path: String, query: [(name: String, value: String)], etag: String?
  ) async throws -> YouTubeResponse {
    let search = query.map { "\($0.name)=\($0.value.percentEncoded())" }.joined(separator: "&")
    var request = HTTPRequest(
      method: .get, scheme: scheme, authority: authority, path: "\(root)/\(path)?\(search)",
      headerFields: [.accept: "application/json"])
    if let etag { request.headerFields[.ifNoneMatch] = etag }
    do throws(HTTPClientError) {
      let (response, body) = try await client.send(request)
      return YouTubeResponse(status: response.status.code, etag: response.headerFields[.eTag], body: body)
    } catch {
      if error.code == .cancelled { throw CancellationError() }
      let unsent: [HTTPClientError.Code] = [.invalidRequest, .connection, .nameNotResolved, .tls]
      throw YouTubeTransportError(error.code.description, error.message, isUnsent: unsent.contains(error.code))
    }
  }
}
