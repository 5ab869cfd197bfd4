import Cryptography
import DurableJobsAdmin
import Foundation
import Hummingbird
import Social

/// An operator who is signed in.
struct AdminSession: Sendable {
  let token: SessionToken
  let actor: Operator
  /// What to say once on the next page.
  let notice: String?

  var mayAct: Bool { actor.role == .full }

  /// Goes into every form, and has to come back with it. Who cannot read the session's pages or its cookie cannot know
  /// it.
  var formToken: String {
    Data(HMACSHA256(key: token.text.utf8).code(for: "form".utf8)).base64EncodedString()
  }
}

/// The session's cookie.
enum SessionCookie {
  static let name = "fanmill_admin"

  /// The session's token that a request comes with; nil if there is none, or a text that cannot be one.
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
