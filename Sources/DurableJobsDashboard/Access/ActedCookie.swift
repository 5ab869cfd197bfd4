import HTTPTypes
import Hummingbird

/// Marks a browser for some seconds after its visitor made a change. Its reads then go to Postgres' primary, in every
/// process. A replica in use is a second behind at most.
enum ActedCookie {
  static let name = "dashboard_acted"
  /// In seconds.
  private static let age = 10

  static func isSet(in request: Request) -> Bool { request.cookies[name] != nil }

  static func set(in headers: inout HTTPFields, at mount: MountPath, isSecure: Bool) {
    headers.append(
      HTTPField(
        name: .setCookie,
        value: "\(name)=1\(DashboardCookie.attributes(at: mount, isSecure: isSecure)); Max-Age=\(age)"))
  }
}
