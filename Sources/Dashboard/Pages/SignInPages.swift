import DurableJobsAdmin
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Social

/// Signing in and out.
struct SignInPages: Sendable {
  let kit: Kit
  let gate: Gate
  let keys: DashboardKeys
  let attempts: AttemptBook
  /// Whether browsers come over TLS.
  let isSecure: Bool

  func add(to routes: inout Routes) {
    routes.open(.get, "sign-in") { request, _ in
      if try await gate.session(of: request) != nil { return .seeOther("/admin") }
      return form(nil, target: Form(request.uri.query ?? "")["to"])
    }
    routes.open(.post, "sign-in", signIn)
    routes.form("sign-out") { visit, _ in
      try await gate.sessions.close(visit.session.token)
      var response = Response.seeOther("/admin/sign-in")
      response.headers[.setCookie] = SessionCookie.clear(isSecure: isSecure)
      return response
    }
  }

  private struct Model {
    let problem: String?
    let target: String?
    let hours: Int
  }

  private func form(_ problem: String?, target: String?, status: HTTPResponse.Status = .ok) -> Response {
    let target = target.flatMap { Link.isOurs($0) ? $0 : nil }
    let model = Model(problem: problem, target: target, hours: AdminSessions.hours)
    return .html(kit.pages.render("sign-in", title: "Sign in", at: nil, for: nil, model), status: status)
  }

  @Sendable private func signIn(_ request: Request, _ context: AdminContext) async throws -> Response {
    let fields = try await Form(bodyOf: request, context)
    let target = fields["to"]
    let role = keys.role(of: fields["token"] ?? "")
    try await attempts.guess(isRight: role != nil, at: .adminToken, by: context.address)
    guard let role else {
      context.logger.notice("a wrong admin token", metadata: ["address": "\(context.address)"])
      return form("That is not the token.", target: target, status: .unauthorized)
    }
    if let old = try await gate.session(of: request) { try await gate.sessions.close(old.token) }
    let token = try await gate.sessions.open(name: Self.name(fields["name"]), role: role)
    var response = Response.seeOther(target.flatMap { Link.isOurs($0) ? $0 : nil } ?? "/admin")
    response.headers[.setCookie] = SessionCookie.set(token, isSecure: isSecure)
    return response
  }

  /// What an operator calls himself: one line of at most 64 characters.
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
