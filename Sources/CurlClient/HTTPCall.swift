import HTTPTypes

/// A request as libcurl takes it: checked, so that what a caller put together from outside cannot become more than one.
struct HTTPCall: Sendable {
  let url: String
  let method: String
  /// `Name: value`, without line ends.
  let fields: [String]
  let body: [UInt8]
  /// What errors call it: method, scheme, host and path.
  let name: String

  var isHTTPS: Bool { url.hasPrefix("https:") }

  /// - Parameter isUpload: whether the body comes from elsewhere.
  /// - Throws: `.invalidRequest`.
  init(
    _ request: HTTPRequest, body: [UInt8], isUpload: Bool = false, userAgent: String
  ) throws(HTTPClientError) {
    guard let scheme = request.scheme?.lowercased(), scheme == "https" || scheme == "http" else {
      throw HTTPClientError(.invalidRequest, "the URL's scheme is neither https nor http")
    }
    // Where a user and a password may stand, a host could be made to look like another.
    guard let authority = request.authority, !authority.isEmpty, authority.utf8.allSatisfy(Self.isAuthority) else {
      throw HTTPClientError(.invalidRequest, "the URL's host is missing, or has a character that no host has")
    }
    guard let path = request.path, path.hasPrefix("/"), path.utf8.allSatisfy(Self.isPath) else {
      throw HTTPClientError(
        .invalidRequest, "the path of a URL at \(authority) does not begin with / or is not percent-encoded")
    }
    url = "\(scheme)://\(authority)\(path)"
    method = request.method.rawValue
    name = "\(method) \(scheme)://\(authority)\(path.prefix { $0 != "?" })"
    self.body = body
    // Methods are case-sensitive, and libcurl tells its own from these by their exact names.
    if !body.isEmpty || isUpload, method == "GET" || method == "HEAD" {
      throw HTTPClientError(.invalidRequest, "\(name): \(method) carries no body")
    }
    if method == "CONNECT" || method == "TRACE" {
      throw HTTPClientError(.invalidRequest, "\(name): \(method) is not for this client")
    }
    var fields: [String] = []
    var hasUserAgent = false
    var hasContentType = false
    for field in request.headerFields {
      guard !Self.reserved.contains(field.name.canonicalName) else {
        throw HTTPClientError(.invalidRequest, "\(name): the field \(field.name) is the client's own to set")
      }
      let value = field.value
      // Further lines would be further fields, or another request.
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw HTTPClientError(.invalidRequest, "\(name): the field \(field.name) has a control character in it")
      }
      if field.name == .userAgent { hasUserAgent = true }
      if field.name == .contentType { hasContentType = true }
      // libcurl's way to say that a field is there and empty.
      fields.append(value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(value)")
    }
    if !hasUserAgent { fields.append("User-Agent: \(userAgent)") }
    // A field without a value is left out: libcurl would call every body a form, and wait for a go-ahead before large
    // ones.
    if !hasContentType { fields.append("Content-Type:") }
    fields.append("Expect:")
    self.fields = fields
  }

  /// Names of fields by which a message says where it ends, or what becomes of its connection.
  private static let reserved: Set<String> = [
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
  ]

  /// Letters, digits and what stands in names, addresses and ports.
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
