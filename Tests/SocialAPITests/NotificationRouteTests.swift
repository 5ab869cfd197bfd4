import Foundation
import LibPQClient
import Social
import Testing

@Suite struct NotificationRouteTests {
  @Test func anAuthorIsToldAndChecks() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      let cid = try await api.open("cid")
      let post = try await api.post("one", as: ann)
      for fan in [bob, cid] { #expect(try await api.send("PUT", "/v1/posts/\(post)/like", as: fan).status == 204) }
      try await api.drain(SocialJobs.notificationQueue)
      _ = try await api.send("POST", "/v1/posts/\(post)/comments", as: bob, #"{"text":"well said"}"#)
      try await api.drain(SocialJobs.notificationQueue)
      _ = try await api.send("PUT", "/v1/users/ann/follow", as: cid)
      _ = try await api.send("PUT", "/v1/users/cid/follow", as: ann)
      try await api.drain(SocialJobs.notificationQueue)

      let list = try await api.send("GET", "/v1/notifications", as: ann)
      #expect(list.status == 200 && list.json["next"] is NSNull)
      #expect(list.items.map { $0["type"] as? Int } == [2, 1, 0])
      #expect(list.items.map { $0["count"] as? Int } == [1, 1, 2])
      #expect(list.items.allSatisfy { $0["checked"] as? Int == 0 })
      #expect(list.items.map { $0["username"] as? String }.prefix(2) == ["cid", "bob"])
      #expect(list.items.map { $0["postId"] as? Int } == [nil, post, post])
      #expect(list.items.map { $0["isFollowed"] as? Bool } == [true, nil, nil])
      let actors = try #require(list.items[2]["actors"] as? [[String: Any]])
      #expect(Set(actors.compactMap { $0["username"] as? String }) == ["bob", "cid"])
      #expect(list.items[2]["uid"] as? Int == actors[0]["uid"] as? Int)
      let date = try #require(list.items[0]["creationDate"] as? Int)
      #expect(try await api.count("SELECT abs(extract(epoch FROM now())::bigint - \(date))") < 600)
      let single = try await api.send("GET", "/v1/notifications?grouped=false", as: ann)
      #expect(single.items.map { $0["type"] as? Int } == [2, 1, 0, 0])
      #expect(single.items.allSatisfy { $0["count"] as? Int == 1 })

      let unread = try await api.send("GET", "/v1/notifications/unread", as: ann)
      #expect(unread.json["unread"] as? Int == 4 && unread.json["dot"] as? Bool == true)
      let group = try #require(list.items[2]["id"] as? Int)
      let checked = try await api.send("POST", "/v1/notifications/checked", as: ann, #"{"ids":[\#(group)]}"#)
      #expect(checked.status == 200 && checked.json["unread"] as? Int == 2)
      let newest = try #require(list.items[0]["id"] as? Int)
      let all = try await api.send("POST", "/v1/notifications/checked", as: ann, #"{"upTo":\#(newest)}"#)
      #expect(all.json["unread"] as? Int == 0 && all.json["dot"] as? Bool == false)
      let after = try await api.send("GET", "/v1/notifications", as: ann)
      #expect(after.items.allSatisfy { $0["checked"] as? Int == 1 })
      #expect(try await api.send("GET", "/v1/notifications/unread", as: ann).json["dot"] as? Bool == false)
    }
  }

  @Test func anothersAreNeitherSeenNorChecked() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      _ = try await api.send("PUT", "/v1/users/ann/follow", as: bob)
      try await api.drain(SocialJobs.notificationQueue)
      let id = try #require(try await api.send("GET", "/v1/notifications", as: ann).items.first?["id"] as? Int)
      #expect(try await api.send("GET", "/v1/notifications", as: bob).items.isEmpty)
      let refused = try await api.send("POST", "/v1/notifications/checked", as: bob, #"{"ids":[\#(id)]}"#)
      #expect((refused.status, refused.code) == (404, "not_found"))
      #expect(try await api.send("POST", "/v1/notifications/checked", as: bob, #"{"upTo":\#(id)}"#).status == 200)
      #expect(try await api.send("GET", "/v1/notifications/unread", as: ann).json["unread"] as? Int == 1)
    }
  }

  @Test func refusalsHaveTheirCodes() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      for (method, path) in [
        ("GET", "/v1/notifications"), ("GET", "/v1/notifications/unread"), ("POST", "/v1/notifications/checked"),
      ] {
        let reply = try await api.send(method, path, #"{"upTo":1}"#)
        #expect((reply.status, reply.code) == (401, "not_signed_in"), "\(method) \(path)")
      }
      let many = (0...1000).map(String.init).joined(separator: ",")
      for (body, code) in [
        ("{}", "invalid_upTo"), (#"{"upTo":1,"ids":[1]}"#, "invalid_upTo"), (#"{"upTo":-1}"#, "invalid_upTo"),
        (#"{"upTo":9007199254740992}"#, "invalid_upTo"), (#"{"upTo":"x"}"#, "invalid_upTo"),
        (#"{"ids":[]}"#, "invalid_ids"), (#"{"ids":7}"#, "invalid_ids"),
        (#"{"ids":["x"]}"#, "invalid_ids"), (#"{"ids":[\#(many)]}"#, "invalid_ids"),
      ] {
        let reply = try await api.send("POST", "/v1/notifications/checked", as: ann, body)
        #expect((reply.status, reply.code) == (422, code), "\(body.prefix(40)): \(reply.json)")
      }
      for body in ["", "{", "[1]"] {
        let reply = try await api.send("POST", "/v1/notifications/checked", as: ann, body)
        #expect((reply.status, reply.code) == (400, "malformed_body"), "\(body)")
      }
      let unknown = try await api.send("POST", "/v1/notifications/checked", as: ann, #"{"ids":[4711,-2]}"#)
      #expect((unknown.status, unknown.code) == (404, "not_found"))
      let large = try await api.send(
        "POST", "/v1/notifications/checked", as: ann, #"{"ids":[9007199254740992,9223372036854775807]}"#)
      #expect((large.status, large.code) == (404, "not_found"))
      #expect(
        try await api.send("GET", "/v1/notifications?before=9007199254740992", as: ann).code == "invalid_before")
      #expect(try await api.send("GET", "/v1/notifications?grouped=maybe", as: ann).code == "invalid_grouped")
      #expect(try await api.send("GET", "/v1/notifications?limit=101", as: ann).code == "invalid_limit")
      #expect(try await api.send("GET", "/v1/notifications?before=x", as: ann).code == "invalid_before")
      let none = try await api.send("GET", "/v1/notifications/unread", as: ann)
      #expect(none.json["unread"] as? Int == 0 && none.json["dot"] as? Bool == false)
    }
  }
}
