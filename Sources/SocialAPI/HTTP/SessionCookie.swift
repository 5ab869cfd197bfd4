import HTTPTypes
import Hummingbird
import Social

/// A browser's session: its token is in a cookie that no script can read.
///
/// The cookie counts only beside the header `Fanmill-Session: cookie`. Browsers let another site's scripts send that
/// header only after asking this server, which allows none, and no form can send it. So another site cannot act with the
/// cookie, beside `SameSite=Strict`. A GET that the browser marks as of the same origin needs no header: `EventSource`
/// cannot send one.
public struct SessionCookie: Sendable {
  let name: String

  private let attributes: String

  /// - Parameter isSecure: whether browsers reach the API over TLS only.
  public init(isSecure: Bool) {
    // The prefix makes browsers refuse such a cookie from any other host, so no sibling domain can plant its session.
    name = (isSecure ? "__Host-" : "") + "fanmill_session"
    attributes = "; Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
  }

  /// The header that keeps a new session's token in the browser.
  func keep(_ token: SessionToken) -> HTTPField {
    HTTPField(
      name: .setCookie, value: "\(name)=\(token.text)\(attributes); Max-Age=\(Sessions.days * 86_400)")
  }

  /// The header that removes the token from the browser.
  var forget: HTTPField { HTTPField(name: .setCookie, value: "\(name)=\(attributes); Max-Age=0") }

  /// The token of a cookie session, if the request may use it.
  func token(of request: Request) -> String? {
    guard request.bearerToken == nil, let cookie = request.cookies[name]?.value, !cookie.isEmpty,
      request.wantsCookie || request.method == .get && request.headers[.secFetchSite] == "same-origin"
    else { return nil }
    return cookie
  }
}

extension Request {
  /// Whether a browser's script asks for a cookie session.
  var wantsCookie: Bool { headers[.fanmillSession] == "cookie" }
}
