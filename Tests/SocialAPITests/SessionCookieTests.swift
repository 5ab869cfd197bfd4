import Foundation
import HTTPTypes
import Hummingbird
import LocalStack
import Testing

@testable import SocialAPI

/// Sessions of browsers.
@Suite(.timeLimit(.minutes(2))) struct SessionCookieTests {
  private let header = ["Fanmill-Session": "cookie"]

  /// Opens an account in a browser, and returns what the browser keeps.
  private func open(_ name: String, _ api: API) async throws -> String {
    let opened = try await api.exchange(
      "POST", "/v1/accounts", body: Array(API.registration(name).utf8), headers: header)
    try #require(opened.status == 201)
    return String(try #require(opened.headers["set-cookie"]?.split(separator: ";").first))
  }

  private func status(
    _ method: String, _ path: String, _ headers: [String: String], _ api: API, as token: String? = nil
  ) async throws -> Int {
    try await api.exchange(method, path, as: token, headers: headers).status
  }

  @Test("The cookie counts beside the header, or for a GET of the page itself; no other site can send either")
  func otherSites() async throws {
    try await API.run { api in
      let cookie = try await open("ann", api)
      let bob = try await api.open("bob")
      let both = header.merging(["Cookie": cookie]) { $1 }
      let own = ["Cookie": cookie, "Sec-Fetch-Site": "same-origin"]
      for headers in [both, own] { #expect(try await status("GET", "/v1/me/celebs", headers, api) == 200) }
      for site in ["same-site", "cross-site", "none", ""] {
        #expect(try await status("GET", "/v1/me", ["Cookie": cookie, "Sec-Fetch-Site": site], api) == 401, "\(site)")
      }
      #expect(try await status("GET", "/v1/me", ["Cookie": cookie], api) == 401)
      #expect(try await status("DELETE", "/v1/sessions/current", own, api) == 401)
      #expect(try await status("PUT", "/v1/users/bob/follow", own, api) == 401)
      // A token in the request counts, and the cookie stays.
      let me = try await api.exchange("GET", "/v1/me", as: bob, headers: both)
      #expect(String(decoding: me.body, as: UTF8.self).contains("bob@example.org"))
      let out = try await api.exchange("DELETE", "/v1/sessions/current", as: bob, headers: both)
      #expect(out.status == 204 && out.headers["set-cookie"] == nil)
      let end = try await api.exchange("DELETE", "/v1/sessions/current", headers: both)
      #expect(end.status == 204 && end.headers["set-cookie"]?.contains("Max-Age=0") == true)
      #expect(try await status("GET", "/v1/me", both, api) == 401)
    }
  }

  @Test func aSessionThatHasEndedDoesNotKeepABrowserFromSigningIn() async throws {
    try await API.run { api in
      let both = header.merging(["Cookie": try await open("ann", api)]) { $1 }
      #expect(try await status("DELETE", "/v1/sessions/current", both, api) == 204)
      for path in ["/v1/me", "/v1/me/celebs"] {
        let refused = try await api.exchange("GET", path, headers: both)
        #expect(refused.status == 401 && refused.headers["set-cookie"]?.contains("Max-Age=0") == true, "\(path)")
        #expect(String(decoding: refused.body, as: UTF8.self).contains("sign in again"), "\(path)")
      }
      // Another tab may still send the old cookie.
      let again = try await api.exchange(
        "POST", "/v1/sessions", body: Array(#"{"email":"ann@example.org","password":"a password"}"#.utf8),
        headers: both)
      #expect(again.status == 201 && again.headers["set-cookie"]?.contains("Max-Age=0") == false)
      let planted = header.merging(["Cookie": "fanmill_session=x"]) { $1 }
      #expect(try await status("POST", "/v1/media/tokens", planted, api) == 201)
      // A token that an app names is a mistake of the app.
      #expect(try await status("POST", "/v1/media/tokens", [:], api, as: String(repeating: "A", count: 43)) == 401)
    }
  }

  @Test func aRouteForOperatorsSignsNobodyOut() async throws {
    try await API.run { api in
      let both = header.merging(["Cookie": try await open("ann", api)]) { $1 }
      let refused = try await api.exchange("GET", "/v1/jobs/1", headers: both)
      #expect(refused.status == 401 && refused.headers["set-cookie"] == nil)
      #expect(try await status("GET", "/v1/me", both, api) == 200)
    }
  }

  private func token(_ cookies: String, of cookie: SessionCookie, _ more: HTTPFields = [:]) -> String? {
    var fields: HTTPFields = [.cookie: cookies, .fanmillSession: "cookie"]
    fields.append(contentsOf: more)
    let head = HTTPRequest(
      method: .post, scheme: "https", authority: "fanmill.example.org", path: "/v1/posts", headerFields: fields)
    return cookie.token(of: Request(head: head, body: .init(buffer: ByteBuffer())))
  }

  @Test func overTLSNoOtherHostOfTheDomainCanPlantASession() {
    let (secure, plain) = (SessionCookie(isSecure: true), SessionCookie(isSecure: false))
    for (cookie, name) in [(secure, "__Host-fanmill_session"), (plain, "fanmill_session")] {
      #expect(cookie.forget.value.hasPrefix("\(name)=; Path=/; HttpOnly; SameSite=Strict"))
      #expect(cookie.forget.value.contains("; Secure;") == (name != "fanmill_session"))
      #expect(token("\(name)=own", of: cookie) == "own")
    }
    // Set by another host for the whole domain: the browser sends it first, but not under the name.
    #expect(token("fanmill_session=planted; __Host-fanmill_session=own", of: secure) == "own")
    #expect(token("fanmill_session=planted", of: secure) == nil)
  }

  @Test func aProxysOwnPasswordIsNoToken() {
    let cookie = SessionCookie(isSecure: false)
    #expect(token("fanmill_session=own", of: cookie, [.authorization: "Basic YTpi"]) == "own")
    #expect(token("fanmill_session=own", of: cookie, [.authorization: "Bearer other"]) == nil)
  }
}
