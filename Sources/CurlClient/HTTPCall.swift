import HTTPTypes

/// A request in libcurl's terms, validated so that caller input cannot turn it into several.
struct HTTPCall: Sendable {
  let url: String
  /// Host and port of the URL.
  let authority: String
  let method: String
  /// `Name: value`, without line ends.
  let fields: [String]
  let body: [UInt8]
  /// The request's name in errors: method, scheme, host and path.
  let name: String

  var isHTTPS: Bool { url.hasPrefix("https:") }

  /// The host's name and the port; nil if the host is an IPv6 address.
  var endpoint: (host: String, port: String)? {
    if authority.hasPrefix("[") { return nil }
    let parts = authority.split(separator: ":", maxSplits: 1)
    guard let host = parts.first else { return nil }
    return (String(host), parts.count > 1 ? String(parts[1]) : isHTTPS ? "443" : "80")
  }

  /// - Parameter isUpload: whether the body comes from another source.
  /// - Throws: `.invalidRequest`.
  init(
    _ request: HTTPRequest, body: [UInt8], isUpload: Bool = false, userAgent: String
  ) throws(HTTPClientError) {
    guard let scheme = request.scheme?.lowercased(), scheme == "https" || scheme == "http" else {
      throw HTTPClientError(.invalidRequest, "the URL's scheme is neither https nor http")
    }
    // A user and password in the URL could make one host look like another.
    guard let authority = request.authority, !authority.isEmpty, authority.utf8.allSatisfy(Self.isAuthority) else {
      throw HTTPClientError(.invalidRequest, "the URL's host is missing or has an invalid character")
    }
    guard let path = request.path, path.hasPrefix("/"), path.utf8.allSatisfy(Self.isPath) else {
      throw HTTPClientError(
        .invalidRequest, "the path of a URL at \(authority) does not begin with / or is not percent-encoded")
    }
    url = "\(scheme)://\(authority)\(path)"
    self.authority = authority
    method = request.method.rawValue
    name = "\(method) \(scheme)://\(authority)\(path.prefix { $0 != "?" })"
    self.body = body
    // Methods are case-sensitive, and libcurl recognizes its own by their exact names.
    if !body.isEmpty || isUpload, method == "GET" || method == "HEAD" {
      throw HTTPClientError(.invalidRequest, "\(name): \(method) cannot carry a body")
    }
    if method == "CONNECT" || method == "TRACE" {
      throw HTTPClientError(.invalidRequest, "\(name): this client does not support \(method)")
    }
    var fields: [String] = []
    var hasUserAgent = false
    var hasContentType = false
    for field in request.headerFields {
      guard !Self.reserved.contains(field.name.canonicalName) else {
        throw HTTPClientError(.invalidRequest, "\(name): the client itself sets the field \(field.name)")
      }
      let value = field.value
      // A line break would start another field, or another request.
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw HTTPClientError(.invalidRequest, "\(name): the field \(field.name) contains a control character")
      }
      if field.name == .userAgent { hasUserAgent = true }
      if field.name == .contentType { hasContentType = true }
      // libcurl's notation for an empty field.
      fields.append(value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(value)")
    }
    if !hasUserAgent { fields.append("User-Agent: \(userAgent)") }
    // A name without a value omits the field: otherwise libcurl would declare every body a form, and wait for a
    // go-ahead before large bodies.
    if !hasContentType { fields.append("Content-Type:") }
    fields.append("Expect:")
    self.fields = fields
  }

  /// The fields that mark a message's end or control its connection.
  private static let reserved: Set<String> = [
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
  ]

  /// Letters, digits and the characters of names, addresses and ports.
  private static func isAuthority(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"): true
    case UInt8(ascii: "["), UInt8(ascii: "]"): true
    default: false
    }
  }

  private static func isPath(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#") }
}
