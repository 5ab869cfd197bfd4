import Foundation
import Testing

@Suite struct UserRouteTests {
  @Test func followingIsIdempotentAndFillsTheFeed() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      let id = try await api.post("one", as: ann)
      for _ in 0..<2 { #expect(try await api.send("PUT", "/v1/users/Ann/follow", as: bob).status == 204) }
      #expect(try await api.send("GET", "/v1/feed/following", as: bob).items.map { $0["id"] as? Int } == [id])
      #expect(try await api.send("GET", "/v1/feed/following", as: ann).items.isEmpty)
      #expect(try await api.send("GET", "/v1/feed/following?own=true", as: ann).items.count == 1)
      let profile = try await api.send("GET", "/v1/users/ann", as: bob)
      #expect(profile.json["followers"] as? Int == 1)
      #expect(profile.json["isFollowed"] as? Bool == true)
      #expect(
        try await api.send("GET", "/v1/users/ann/followers", as: ann).items.map { $0["username"] as? String } == ["bob"]
      )
      #expect(
        try await api.send("GET", "/v1/users/bob/following", as: ann).items.map { $0["username"] as? String } == ["ann"]
      )
      for _ in 0..<2 { #expect(try await api.send("DELETE", "/v1/users/ann/follow", as: bob).status == 204) }
      #expect(try await api.send("GET", "/v1/feed/following", as: bob).items.isEmpty)
    }
  }

  @Test func refusalsHaveTheirCodes() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let oneself = try await api.send("PUT", "/v1/users/ann/follow", as: ann)
      #expect((oneself.status, oneself.code) == (409, "cannot_follow_yourself"))
      for name in ["nobody", "%00", "a%20b", String(repeating: "a", count: 300)] {
        let reply = try await api.send("PUT", "/v1/users/\(name)/follow", as: ann)
        #expect((reply.status, reply.code) == (404, "not_found"), "\(name)")
      }
      let unsigned = try await api.send("PUT", "/v1/users/ann/follow")
      #expect((unsigned.status, unsigned.code) == (401, "not_signed_in"))
      let forged = try await api.send("GET", "/v1/me", as: String(repeating: "A", count: 43))
      #expect((forged.status, forged.code) == (401, "not_signed_in"))
      for path in ["users", "posts"] {
        let long = String(repeating: "a", count: 101)
        #expect(try await api.send("GET", "/v1/\(path)?query=\(long)", as: ann).code == "invalid_query")
        #expect(try await api.send("GET", "/v1/\(path)?query=%00", as: ann).code == "invalid_query")
        #expect(try await api.send("GET", "/v1/\(path)?query=a&limit=101", as: ann).code == "invalid_limit")
        #expect(try await api.send("GET", "/v1/\(path)?query=a").code == "not_signed_in")
        // All other characters are ordinary text.
        for query in [
          "%25", "_", "%5B%28%E3%84%B1%EA%B0%80", "%5C", "%FF", "a%0Ab", "%E3%84%B1%E3%84%B1%5C", "''", "%24%24",
        ] {
          let reply = try await api.send("GET", "/v1/\(path)?query=\(query)", as: ann)
          #expect(reply.status == 200 && reply.items.isEmpty, "\(path) \(query): \(reply.json)")
        }
      }
    }
  }

  @Test func searchFindsOthersAndNeverOneself() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      _ = try await api.open("anna")
      _ = try await api.open("joanne")
      let found = try await api.send("GET", "/v1/users?query=AN", as: ann)
      #expect(found.items.map { $0["username"] as? String } == ["anna", "joanne"])
      for query in ["?query=", ""] {
        let newest = try await api.send("GET", "/v1/users\(query)", as: ann)
        #expect(newest.items.map { $0["username"] as? String } == ["joanne", "anna"])
      }
    }
  }

  @Test func pagesOfASearchEnd() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      for number in 0..<7 {
        _ = try await api.open("cat\(number)")
        _ = try await api.post(number % 2 == 0 ? "A cat" : "A dog", as: ann)
      }
      for (path, count) in [("users?query=at", 7), ("users?query=at5", 1), ("posts?query=CAT", 4), ("posts", 7)] {
        var ids: [Int] = []
        var before = ""
        repeat {
          let page = try await api.send("GET", "/v1/\(path)\(path.contains("?") ? "&" : "?")limit=2\(before)", as: ann)
          ids += page.items.compactMap { $0["id"] as? Int }
          before = (page.json["next"] as? Int).map { "&before=\($0)" } ?? ""
        } while !before.isEmpty
        #expect(ids.count == count && ids == Array(Set(ids)).sorted(by: >), "\(path): \(ids)")
      }
    }
  }
}
