import DurableJobsDashboard
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Social

/// Sign-in and sign-out.
struct SignInPages: DashboardPages {
  let sessions: AdminSessions
  let attempts: AttemptBook
  /// Whether browsers connect over TLS.
  let isSecure: Bool

  let menu = [DashboardMenuEntry.button("Sign out", posts: "sign-out")]
  let templates = ["sign-in": String(decoding: PackageResources.sign_in_mustache, as: UTF8.self)]

  func add(to routes: inout DashboardRoutes) {
    routes.open(.get, "sign-in") { visit in
      if try await sessions.find(of: visit.request) != nil { return visit.redirect(to: "") }
      return try await form(visit, target: visit.query["to"])
    }
    routes.open(.post, "sign-in", signIn)
    routes.form("sign-out") { visit, _ in
      if let token = SessionCookie.token(of: visit.request) { try await sessions.close(token) }
      var response = visit.redirect(to: "sign-in")
      response.headers[.setCookie] = SessionCookie.clear(isSecure: isSecure)
      return response
    }
  }

  func refusal(of error: any Error) -> DashboardRefusal? { DashboardRefusal(ofSocial: error) }

  private struct Model {
    let problem: String?
    let target: String?
    let hours: Int
  }

  private func form(
    _ visit: DashboardVisit, _ problem: String? = nil, target: String?, status: HTTPResponse.Status = .ok
  ) async throws -> Response {
    let target = target.flatMap { visit.isOwn($0) ? $0 : nil }
    let model = Model(problem: problem, target: target, hours: AdminSessions.hours)
    return try await visit.page("sign-in", title: "Sign in", model, status: status)
  }

  @Sendable private func signIn(_ visit: DashboardVisit) async throws -> Response {
    guard let context = visit.context as? AdminContext else {
      preconditionFailure("the dashboard is mounted on a router of AdminContext")
    }
    let fields = try await visit.form()
    let target = fields["to"]
    let role = sessions.keys.role(of: fields["token"] ?? "")
    try await attempts.guess(isRight: role != nil, at: .adminToken, by: context.address)
    guard let role else {
      context.logger.notice("wrong admin token", metadata: ["address": "\(context.address)"])
      return try await form(visit, "Wrong token.", target: target, status: .unauthorized)
    }
    if let old = try await sessions.find(of: visit.request) { try await sessions.close(old.token) }
    let token = try await sessions.open(name: Self.name(fields["name"]), role: role)
    var response = Response.redirect(to: target.flatMap { visit.isOwn($0) ? $0 : nil } ?? visit.link(""))
    response.headers[.setCookie] = SessionCookie.set(token, isSecure: isSecure)
    return response
  }

  /// The name that an operator enters: one line of at most 64 characters.
  static func name(_ typed: String?) -> String {
    let scalars = (typed ?? "").unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: false
      default: true
      }
    }
    let name = String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
    return name.isEmpty ? "operator" : String(name.prefix(64))
  }
}
