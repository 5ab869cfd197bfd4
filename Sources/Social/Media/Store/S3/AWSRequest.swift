import HTTPTypes

/// A request to be signed.
struct AWSRequest: Sendable {
  var method: HTTPRequest.Method
  var scheme: String
  /// Host and port, as in the `Host` field.
  var authority: String
  /// Unencoded; begins with a slash.
  var path: String
  /// Unencoded.
  var query: [(name: String, value: String)] = []
  /// Excludes `Host`, which comes from the authority.
  var fields = HTTPFields()

  /// Encoded once, as S3 signs it.
  var encodedPath: String { path.percentEncoded(keeping: "/") }

  /// Encoded, in signing order.
  var encodedQuery: String {
    let pairs = query.map { ($0.name.percentEncoded(), $0.value.percentEncoded()) }
    return pairs.sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
  }

  private var target: String { query.isEmpty ? encodedPath : "\(encodedPath)?\(encodedQuery)" }

  var url: String { "\(scheme)://\(authority)\(target)" }

  /// The request for the HTTP client.
  var http: HTTPRequest {
    HTTPRequest(method: method, scheme: scheme, authority: authority, path: target, headerFields: fields)
  }
}
