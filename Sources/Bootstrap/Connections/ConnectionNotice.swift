/// The raw HTTP response to a client whose request is not served.
struct ConnectionNotice {
  private let status: String
  private let code: String
  private let detail: String
  private var retryAfter: Int?

  static func headTimeout(_ limit: Duration) -> ConnectionNotice {
    ConnectionNotice(
      status: "408 Request Timeout", code: "request_timeout",
      detail: "the request's head did not arrive within \(limit): send it right after connecting")
  }

  static func bodyTimeout(_ limit: Duration) -> ConnectionNotice {
    ConnectionNotice(
      status: "408 Request Timeout", code: "request_timeout",
      detail: "the request's body did not arrive within \(limit): send less, or send faster")
  }

  static let full = ConnectionNotice(
    status: "503 Service Unavailable", code: "too_many_connections",
    detail: "this server accepts no more connections for now: try again in a few seconds", retryAfter: 5)

  static func tooManyOfClient(_ limit: Int) -> ConnectionNotice {
    ConnectionNotice(
      status: "429 Too Many Requests", code: "too_many_connections",
      detail: "a client may have at most \(limit) connections: close one, or reuse one for several requests",
      retryAfter: 5)
  }

  /// Head and body. No part of them needs escaping.
  var text: String {
    let title = status.drop { $0 != " " }.dropFirst()
    let body = """
      {"type":"about:blank","title":"\(title)","status":\(status.prefix(3)),"code":"\(code)","detail":"\(detail)"}
      """
    var head = "HTTP/1.1 \(status)\r\nContent-Type: application/problem+json\r\nContent-Length: \(body.utf8.count)\r\n"
    if let retryAfter { head += "Retry-After: \(retryAfter)\r\n" }
    return head + "Cache-Control: no-store\r\nConnection: close\r\n\r\n" + body
  }
}
