import Crypto
import DurableJobsAdmin
import Foundation
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
    let key = SymmetricKey(data: Array(token.text.utf8))
    return Data(HMAC<SHA256>.authenticationCode(for: Array("form".utf8), using: key)).base64EncodedString()
  }

  /// Compared by hashes, so that the time it takes says nothing.
  func issued(_ formToken: String) -> Bool {
    SHA256.hash(data: Array(formToken.utf8)) == SHA256.hash(data: Array(self.formToken.utf8))
  }
}

/// The session's cookie.
enum SessionCookie {
  static let name = "fanmill_admin"

  static func set(_ token: SessionToken, isSecure: Bool) -> String {
    "\(name)=\(token.text); Path=/admin; Max-Age=\(AdminSessions.hours * 3600); HttpOnly; SameSite=Strict"
      + (isSecure ? "; Secure" : "")
  }

  static func clear(isSecure: Bool) -> String {
    "\(name)=; Path=/admin; Max-Age=0; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
  }
}
