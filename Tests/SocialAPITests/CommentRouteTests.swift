import Foundation
import LibPQClient
import Testing

@Suite struct CommentRouteTests {
  @Test func commentsAreMadeListedAndDeleted() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      let eve = try await api.open("eve")
      let post = try await api.post("one", as: ann)
      let other = try await api.post("two", as: ann)
      var ids: [Int] = []
      for text in ["first", "second", "third"] {
        let made = try await api.send("POST", "/v1/posts/\(post)/comments", as: bob, #"{"text":"\#(text)"}"#)
        #expect(made.status == 201 && made.json["text"] as? String == text)
        #expect((made.json["author"] as? [String: Any])?["username"] as? String == "bob")
        ids.append(try #require(made.json["id"] as? Int))
      }
      let page = try await api.send("GET", "/v1/posts/\(post)/comments?limit=2", as: eve)
      #expect(page.items.map { $0["text"] as? String } == ["third", "second"])
      let next = try #require(page.json["next"] as? Int)
      let rest = try await api.send("GET", "/v1/posts/\(post)/comments?limit=2&before=\(next)", as: eve)
      #expect(rest.items.map { $0["text"] as? String } == ["first"] && rest.json["next"] is NSNull)
      #expect(try await api.send("GET", "/v1/posts/\(post)", as: eve).json["comments"] as? Int == 3)
      let oldest = try await api.send("GET", "/v1/posts/\(post)/comments?order=oldest&limit=2", as: eve)
      #expect(oldest.items.map { $0["text"] as? String } == ["first", "second"])
      let last = try #require(oldest.json["next"] as? Int)
      let end = try await api.send("GET", "/v1/posts/\(post)/comments?order=oldest&limit=2&before=\(last)", as: eve)
      #expect(end.items.map { $0["text"] as? String } == ["third"] && end.json["next"] is NSNull)
      let order = try await api.send("GET", "/v1/posts/\(post)/comments?order=loudest", as: eve)
      #expect((order.status, order.code) == (422, "invalid_order"))
      // Neither the commenter nor the post's author.
      let refused = try await api.send("DELETE", "/v1/posts/\(post)/comments/\(ids[0])", as: eve)
      #expect((refused.status, refused.code) == (403, "not_yours"))
      #expect(try await api.send("DELETE", "/v1/posts/\(other)/comments/\(ids[0])", as: bob).status == 404)
      #expect(try await api.send("DELETE", "/v1/posts/\(post)/comments/\(ids[0])", as: bob).status == 204)
      #expect(try await api.send("DELETE", "/v1/posts/\(post)/comments/\(ids[1])", as: ann).status == 204)
      for path in ["\(ids[0])", "x", "-1", "9223372036854775808"] {
        let gone = try await api.send("DELETE", "/v1/posts/\(post)/comments/\(path)", as: bob)
        #expect((gone.status, gone.code) == (404, "not_found"), "\(path)")
      }
      #expect(try await api.send("GET", "/v1/posts/\(post)/comments", as: eve).items.count == 1)
    }
  }

  @Test func refusalsHaveTheirCodes() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let post = try await api.post("one", as: ann)
      let path = "/v1/posts/\(post)/comments"
      let long = String(repeating: "x", count: 2001)
      for (body, code) in [
        (#"{"text":""}"#, "invalid_text"), (#"{"text":"  \n "}"#, "invalid_text"), ("{}", "invalid_text"),
        (#"{"text":"\#(long)"}"#, "invalid_text"), (#"{"text":7}"#, "invalid_text"),
        (#"{"text":null}"#, "invalid_text"),
        (#"{"text":"a\u0000b"}"#, "invalid_text"),
      ] {
        let reply = try await api.send("POST", path, as: ann, body)
        #expect((reply.status, reply.code) == (422, code), "\(body.prefix(40))")
      }
      for body in ["", "{", "[]", "7"] {
        #expect(try await api.send("POST", path, as: ann, body).code == "malformed_body", "\(body)")
      }
      for method in ["GET", "POST"] {
        let gone = try await api.send(method, "/v1/posts/4711/comments", as: ann, #"{"text":"x"}"#)
        #expect((gone.status, gone.code) == (404, "not_found"))
        let unsigned = try await api.send(method, path, #"{"text":"x"}"#)
        #expect((unsigned.status, unsigned.code) == (401, "not_signed_in"))
      }
      #expect(try await api.send("DELETE", path + "/1").status == 401)
      #expect(try await api.send("GET", path + "?before=-1", as: ann).code == "invalid_before")
      #expect(try await api.count("SELECT count(*) FROM comments") == 0)
      #expect(try await api.send("POST", path, as: ann, #"{"text":"\#(long.dropLast())"}"#).status == 201)
    }
  }

  @Test func aCommentSentAgainWithItsKeyIsOne() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let post = try await api.post("one", as: ann)
      let path = "/v1/posts/\(post)/comments"
      let first = try await api.send("POST", path, as: ann, key: "k", #"{"text":"x"}"#)
      let again = try await api.send("POST", path, as: ann, key: "k", #"{"text":"x"}"#)
      #expect(again.status == 201 && again.json["id"] as? Int == first.json["id"] as? Int)
      #expect(try await api.send("POST", path, as: ann, key: "k", #"{"text":"y"}"#).code == "idempotency_key_reused")
      #expect(try await api.count("SELECT count(*) FROM comments") == 1)
    }
  }
}
