import HTTPTypes
import Hummingbird

extension Response {
  /// A page, or a fragment of one.
  static func html(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
    Response(
      status: status, headers: [.contentType: "text/html; charset=utf-8"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}

extension HTTPFields {
  /// Sets the security headers of every response: run and load only what comes from here, allow no framing, cache
  /// nothing.
  ///
  /// The referrer is limited to the site, not suppressed: without it browsers send `Origin: null` with forms.
  mutating func secure() {
    let policy = [
      "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
      "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    ]
    self[.contentSecurityPolicy] = policy.joined(separator: "; ")
    self[.xContentTypeOptions] = "nosniff"
    self.set("X-Frame-Options", "DENY")
    self.set("Referrer-Policy", "same-origin")
    self.set("Cross-Origin-Opener-Policy", "same-origin")
    self.set("Cross-Origin-Resource-Policy", "same-origin")
    self.set("X-Robots-Tag", "noindex")
    if self[.cacheControl] == nil { self[.cacheControl] = "no-store" }
  }

  private mutating func set(_ name: String, _ value: String) {
    guard let name = HTTPField.Name(name) else { preconditionFailure("a token by RFC 9110") }
    self[name] = value
  }
}
