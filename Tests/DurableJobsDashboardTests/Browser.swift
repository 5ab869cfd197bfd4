import DurableJobsDashboard
import HTTPTypes
import Hummingbird
import Locking
import Testing

/// One user's browser: it keeps cookies and sends pages' forms.
struct Browser: Sendable {
  let program: OpsProgram
  let user: String?
  private let cookies = Locked<[String: String]>([:])

  init(_ program: OpsProgram, user: String? = "ann") {
    self.program = program
    self.user = user
  }

  struct Reply: Sendable {
    let status: Int
    let headers: HTTPFields
    let text: String

    var location: String? { headers[.location] }
    func contains(_ part: String) -> Bool { text.contains(part) }

    /// The token of the page's forms.
    var formToken: String? { text.firstMatch(of: #/name="form" value="([^"]*)"/#).map { String($0.1) } }

    /// The page's links, form targets and assets.
    var links: [String] {
      text.matches(of: #/(?:href|src|action|data-live)="([^"]*)"/#).map { match in
        String(match.1).replacing("&amp;", with: "&")
      }
    }
  }

  /// The token in the dashboard's cookie.
  var formCookie: String? { cookies.withLock { $0["dashboard_form"] } }

  func get(_ path: String) async throws -> Reply { try await send(.get, path) }

  /// Sends a form.
  func post(
    _ path: String, _ fields: [(String, String)] = [], origin: String? = "http://ops.test"
  ) async throws -> Reply {
    let body = fields.map { "\(DashboardLink.escape($0.0))=\(DashboardLink.escape($0.1))" }.joined(separator: "&")
    return try await send(.post, path, origin: origin, body: body)
  }

  private func send(
    _ method: HTTPRequest.Method, _ path: String, origin: String? = nil, body: String = ""
  ) async throws -> Reply {
    let response = try await program.send(request(method, path, origin: origin, body: body))
    for cookie in response.headers[values: .setCookie] { keep(cookie) }
    let collector = Collector()
    try await response.body.write(collector)
    return Reply(status: response.status.code, headers: response.headers, text: collector.text)
  }

  /// A response whose body has not been read.
  func open(_ path: String) async throws -> Response {
    try await program.send(request(.get, path, accept: "text/event-stream"))
  }

  private func request(
    _ method: HTTPRequest.Method, _ path: String, origin: String? = nil, accept: String? = nil, body: String = ""
  ) -> Request {
    var head = HTTPRequest(method: method, scheme: "http", authority: "ops.test", path: path)
    head.headerFields[.from] = user
    head.headerFields[.accept] = accept
    head.headerFields[.origin] = origin
    let sent = cookies.withLock { $0.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "; ") }
    if !sent.isEmpty { head.headerFields[.cookie] = sent }
    return Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body)))
  }

  private func keep(_ cookie: String) {
    let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    cookies.withLock { $0[String(pair[0])] = cookie.contains("; Max-Age=0") ? nil : String(pair[1]) }
  }
}

/// Collects the body that a response writes.
private final class Collector: ResponseBodyWriter, Sendable {
  private let bytes = Locked<[UInt8]>([])
  var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

  func write(_ buffer: ByteBuffer) async throws { bytes.withLock { $0 += Array(buffer.readableBytesView) } }
  func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
