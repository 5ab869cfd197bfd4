import Cryptography
import DurableJobsAdmin
import Foundation
import Hummingbird
import Social

/// A signed-in operator.
struct AdminSession: Sendable {
  let token: SessionToken
  let actor: Operator
  /// A message to show once, on the next page.
  let notice: String?

  var mayAct: Bool { actor.role == .full }

  /// Embedded in every form and required on submission. Only the session's pages and its cookie reveal it.
  var formToken: String {
    Data(HMACSHA256(key: token.text.utf8).code(for: "form".utf8)).base64EncodedString()
  }
}

/// The session's cookie.
enum SessionCookie {
  static let name = "fanmill_admin"

  /// The session token of a request; nil if it is missing or malformed.
  static func token(of request: Request) -> SessionToken? {
    request.cookies[name].flatMap { SessionToken($0.value) }
  }

  static func set(_ token: SessionToken, isSecure: Bool) -> String {
    cookie(token.text, seconds: AdminSessions.hours * 3600, isSecure: isSecure)
  }

  static func clear(isSecure: Bool) -> String {
    cookie("", seconds: 0, isSecure: isSecure)
  }

  private static func cookie(_ value: String, seconds: Int, isSecure: Bool) -> String {
    "\(name)=\(value); Path=\(SocialDashboard.path); Max-Age=\(seconds); HttpOnly; SameSite=Strict"
      + (isSecure ? "; Secure" : "")
  }
}
