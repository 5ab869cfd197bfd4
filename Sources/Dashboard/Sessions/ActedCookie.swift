import HTTPTypes
import Hummingbird

/// Tells for some seconds that a browser's operator has changed something: what he reads then comes from Postgres'
/// primary, at whichever API process. A replica that is used is a second behind at most.
enum ActedCookie {
  static let name = "fanmill_admin_acted"
  /// In seconds.
  private static let age = 10

  static func isSet(in request: Request) -> Bool { request.cookies[name] != nil }

  static func set(in headers: inout HTTPFields) {
    headers.append(
      HTTPField(name: .setCookie, value: "\(name)=1; Path=/admin; Max-Age=\(age); HttpOnly; SameSite=Strict"))
  }
}
