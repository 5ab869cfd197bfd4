import DurableJobs
import Foundation
import LibPQClient
import Testing

@Suite struct LikeRouteTests {
  @Test func likingIsIdempotentAndCounted() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      let id = try await api.post("one", as: ann)
      for _ in 0..<2 { #expect(try await api.send("PUT", "/v1/posts/\(id)/like", as: bob).status == 204) }
      #expect(try await api.send("PUT", "/v1/posts/\(id)/like", as: ann).status == 204)
      #expect(try await api.send("GET", "/v1/posts/\(id)", as: ann).json["likes"] as? Int == 2)
      // Each reader sees their own likes and posts, on any page.
      let eve = try await api.open("eve")
      let own = try await api.send("GET", "/v1/feed/following?own=true", as: ann).items
      #expect(own.map { $0["isLiked"] as? Bool } == [true] && own.map { $0["isMine"] as? Bool } == [true])
      for path in ["/v1/posts/\(id)", "/v1/feed/home", "/v1/users/ann/posts"] {
        for (token, isLiked, isMine) in [(ann, true, true), (bob, true, false), (eve, false, false)] {
          let reply = try await api.send("GET", path, as: token)
          let post = reply.items.first ?? reply.json
          #expect(post["isLiked"] as? Bool == isLiked && post["isMine"] as? Bool == isMine, "\(path) \(reply.json)")
        }
      }
      #expect(try await api.send("GET", "/v1/me/likes", as: bob).items.map { $0["isLiked"] as? Bool } == [true])
      // One job per like, including one's own, for readers with the post open.
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'notifications.update'") == 2)
      for _ in 0..<2 { #expect(try await api.send("DELETE", "/v1/posts/\(id)/like", as: bob).status == 204) }
      #expect(try await api.send("GET", "/v1/posts/\(id)", as: ann).json["likes"] as? Int == 1)
      #expect(try await api.send("GET", "/v1/feed/home", as: ann).items.map { $0["likes"] as? Int } == [1])
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'notifications.update'") == 3)
      try await api.drain("notifications")
      #expect(try await api.send("GET", "/v1/notifications", as: ann).items.isEmpty)
    }
  }

  @Test func onesLikesAreListedTheLatestFirst() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      var ids: [Int] = []
      for number in 0..<5 { ids.append(try await api.post("post \(number)", as: ann)) }
      let order = [ids[3], ids[0], ids[4], ids[1], ids[2]]
      for id in order { _ = try await api.send("PUT", "/v1/posts/\(id)/like", as: bob) }
      var seen: [Int] = []
      var path: String? = "/v1/me/likes?limit=2"
      while let next = path {
        let page = try await api.send("GET", next, as: bob)
        seen += page.items.compactMap { $0["id"] as? Int }
        path = (page.json["next"] as? Int).map { "/v1/me/likes?limit=2&before=\($0)" }
      }
      #expect(seen == order.reversed())
      // Likes are private to the reader.
      #expect(try await api.send("GET", "/v1/me/likes", as: ann).items.isEmpty)
      #expect(try await api.send("DELETE", "/v1/posts/\(ids[4])", as: ann).status == 204)
      let left = try await api.send("GET", "/v1/me/likes", as: bob)
      #expect(left.items.map { $0["id"] as? Int } == [ids[2], ids[1], ids[0], ids[3]])
    }
  }

  /// A number outside the range of clients' JSON could reach a lock of another kind.
  @Test func numbersThatAreNoIDsReachNoLock() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      for id in ["9007199254740992", "1152921504606846977", "2305843009213693953", "9223372036854775807"] {
        for (method, path, body) in [
          ("GET", "", nil), ("PATCH", "", #"{"title":"x"}"#), ("DELETE", "", nil), ("GET", "/fan-out", nil),
          ("PUT", "/like", nil), ("DELETE", "/like", nil), ("GET", "/comments", nil),
          ("POST", "/comments", #"{"text":"x"}"#), ("DELETE", "/comments/1", nil),
        ] {
          let reply = try await api.send(method, "/v1/posts/\(id)\(path)", as: ann, body)
          #expect((reply.status, reply.code) == (404, "not_found"), "\(method) \(id)\(path)")
        }
      }
      let post = try await api.post("one", as: ann)
      let comment = try await api.send("DELETE", "/v1/posts/\(post)/comments/9007199254740992", as: ann)
      #expect((comment.status, comment.code) == (404, "not_found"))
    }
  }

  @Test func refusalsHaveTheirCodes() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let id = try await api.post("one", as: ann)
      for (method, path) in [
        ("PUT", "/v1/posts/\(id)/like"), ("DELETE", "/v1/posts/\(id)/like"), ("GET", "/v1/me/likes"),
      ] {
        let reply = try await api.send(method, path)
        #expect((reply.status, reply.code) == (401, "not_signed_in"), "\(method) \(path)")
      }
      for path in ["0", "-1", "x", "4711", "9223372036854775807", "9223372036854775808"] {
        for method in ["PUT", "DELETE"] {
          let reply = try await api.send(method, "/v1/posts/\(path)/like", as: ann)
          #expect((reply.status, reply.code) == (404, "not_found"), "\(method) \(path)")
        }
      }
      #expect(try await api.send("GET", "/v1/me/likes?limit=0", as: ann).code == "invalid_limit")
      // Deleting an account deletes its sessions.
      try await api.pool.execute("DELETE FROM accounts WHERE username = 'ann'")
      let gone = try await api.send("PUT", "/v1/posts/\(id)/like", as: ann)
      #expect((gone.status, gone.code) == (401, "not_signed_in"))
      #expect(try await api.count("SELECT count(*) FROM likes") == 0)
    }
  }
}
