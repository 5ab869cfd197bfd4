import HTTPTypes

/// A request as it is signed.
struct AWSRequest: Sendable {
  var method: HTTPRequest.Method
  var scheme: String
  /// Host and port, as the `Host` field has them.
  var authority: String
  /// Not encoded; begins with a slash.
  var path: String
  /// Not encoded.
  var query: [(name: String, value: String)] = []
  /// Besides `Host`, which comes from the authority.
  var fields = HTTPFields()

  /// Encoded once, as S3 signs it.
  var encodedPath: String { path.percentEncoded(keeping: "/") }

  /// Encoded, in the order in which it is signed.
  var encodedQuery: String {
    let pairs = query.map { ($0.name.percentEncoded(), $0.value.percentEncoded()) }
    return pairs.sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
  }

  private var target: String { query.isEmpty ? encodedPath : "\(encodedPath)?\(encodedQuery)" }

  var url: String { "\(scheme)://\(authority)\(target)" }

  /// As the HTTP client takes it.
  var http: HTTPRequest {
    HTTPRequest(method: method, scheme: scheme, authority: authority, path: target, headerFields: fields)
  }
}
