import Foundation
import HTTPTypes
import Hummingbird
import LocalStack
import Testing

@testable import SocialAPI

/// `ETag` and `If-None-Match`, and what a route's declaration adds to its answers.
@Suite(.timeLimit(.minutes(2))) struct ConditionalRequestTests {
  private func get(_ path: String, as token: String, holding tag: String, _ api: API) async throws
    -> LoopbackHTTP.Answer
  {
    try await api.exchange("GET", path, as: token, headers: ["If-None-Match": tag])
  }

  @Test("Who holds what is there gets no body; after a change, the new one")
  func unchanged() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let post = try await api.post("one", as: ann)
      for path in ["/v1/me", "/v1/users/ann", "/v1/feed/home", "/v1/posts/\(post)", "/v1/notifications/unread"] {
        let first = try await api.exchange("GET", path, as: ann)
        let tag = try #require(first.headers["etag"], "\(path)")
        #expect(first.headers["cache-control"] == "private, no-cache")
        for held in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
          let again = try await get(path, as: ann, holding: held, api)
          #expect(again.status == 304 && again.body.isEmpty && again.headers["etag"] == tag, "\(path) \(held)")
        }
        #expect(try await get(path, as: ann, holding: "\"other\"", api).status == 200)
      }
      let tag = try #require(try await api.exchange("GET", "/v1/posts/\(post)", as: ann).headers["etag"])
      // Another reader's answer differs: `isMine`.
      #expect(try await get("/v1/posts/\(post)", as: bob, holding: tag, api).status == 200)
      #expect(try await api.send("PATCH", "/v1/posts/\(post)", as: ann, #"{"title":"two"}"#).status == 200)
      #expect(try await get("/v1/posts/\(post)", as: ann, holding: tag, api).status == 200)
      // A refusal is none, whatever is held.
      #expect(try await get("/v1/posts/999", as: ann, holding: "*", api).status == 404)
      #expect(try await get("/v1/me", as: String(repeating: "A", count: 43), holding: "*", api).status == 401)
    }
  }

  @Test func aCookieSessionLeavesNothingInTheBrowser() async throws {
    try await API.run { api in
      let opened = try await api.exchange(
        "POST", "/v1/accounts", body: Array(API.registration("ann").utf8), headers: ["Fanmill-Session": "cookie"])
      let cookie = try #require(opened.headers["set-cookie"]?.split(separator: ";").first)
      let me = try await api.exchange(
        "GET", "/v1/me", headers: ["Fanmill-Session": "cookie", "Cookie": String(cookie)])
      #expect(me.status == 200 && me.headers["cache-control"] == "no-store" && me.headers["etag"] != nil)
    }
  }

  @Test func aRouteThatGoesSaysSoAndNamesItsSuccessor() {
    var operation = APIOperation(
      id: "old", method: .get, path: "old", tag: .users, summary: "Goes.", outcomes: [.noContent])
    #expect(operation.answers[0].headers.isEmpty)
    let deprecation = APIOperation.Deprecation(since: 1_790_000_000, successor: "/v1/new")
    operation.deprecation = deprecation
    #expect(operation.answers[0].headers.map(\.name) == ["Deprecation"])
    var headers = HTTPFields()
    deprecation.announce(in: &headers)
    #expect(headers.map(\.description) == ["Deprecation: @1790000000", "Link: </v1/new>; rel=\"successor-version\""])
  }
}
