import Foundation
import HTTPTypes
import Hummingbird

/// Keeps a visitor's form token and notice in cookies if the app provides no session for them.
///
/// The token is random, and a form has to send the same one as the cookie: another site can send neither. The cookie is
/// no credential and grants no access.
struct CookieMemory: Sendable {
  static let formCookie = "dashboard_form"
  static let noticeCookie = "dashboard_notice"
  /// Keeps a cookie below the browsers' limit of 4 KiB, however long the notice.
  private static let noticeScalars = 300
  /// The lifetime of a notice that no page shows, in seconds.
  private static let noticeAge = 60

  let formToken: String
  let notice: String?
  /// Whether the browser has no token yet.
  private let isNew: Bool
  private let attributes: String

  init(_ request: Request, at mount: MountPath, isSecure: Bool) {
    let kept = request.cookies[Self.formCookie]?.value
    isNew = !(kept.map(Self.isToken) ?? false)
    formToken = isNew ? Self.token() : kept ?? ""
    notice = request.cookies[Self.noticeCookie]?.value.removingPercentEncoding
    attributes = DashboardCookie.attributes(at: mount, isSecure: isSecure)
  }

  /// Gives the browser its token, if it has none.
  func begin(in headers: inout HTTPFields) {
    if isNew { headers.append(HTTPField(name: .setCookie, value: "\(Self.formCookie)=\(formToken)\(attributes)")) }
  }

  /// Keeps a notice for the next page; nil forgets it.
  func leave(_ notice: String?, in headers: inout HTTPFields) {
    let text = notice.map {
      DashboardLink.escape(String(String.UnicodeScalarView($0.unicodeScalars.prefix(Self.noticeScalars))))
    }
    let age = text == nil ? 0 : Self.noticeAge
    headers.append(
      HTTPField(name: .setCookie, value: "\(Self.noticeCookie)=\(text ?? "")\(attributes); Max-Age=\(age)"))
  }

  /// 32 random bytes from the system, in hexadecimal.
  private static func token() -> String {
    var random = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      let digits = String(random.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  private static func isToken(_ text: String) -> Bool {
    text.utf8.count == 64
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}

/// The common settings of a dashboard's cookies.
enum DashboardCookie {
  /// Cookies are hidden from scripts, from other sites and from other paths.
  static func attributes(at mount: MountPath, isSecure: Bool) -> String {
    "; Path=\(mount.home); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
  }
}
