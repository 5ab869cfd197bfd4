import DurableJobs
import Foundation
import LibPQClient
import Social
import Testing

@Suite struct MessageRouteTests {
  private func say(_ text: String, to name: String, as token: String, in api: API) async throws -> Int {
    let reply = try await api.send("POST", "/v1/conversations/\(name)/messages", as: token, #"{"text":"\#(text)"}"#)
    try #require(reply.status == 201, "\(reply.status) \(reply.json)")
    return try #require(reply.json["id"] as? Int)
  }

  @Test func twoWriteToEachOtherAndNobodyElseReadsIt() async throws {
    try await API.run { api in
      let (ann, bob, eve) = (try await api.open("ann"), try await api.open("bob"), try await api.open("eve"))
      _ = try await say("hello", to: "bob", as: ann, in: api)
      let second = try await say("are you there?", to: "BOB", as: ann, in: api)
      let third = try await say("yes", to: "ann", as: bob, in: api)
      let page = try await api.send("GET", "/v1/conversations/ann/messages?limit=2", as: bob)
      #expect(page.items.map { $0["text"] as? String } == ["yes", "are you there?"])
      #expect(page.items.map { $0["own"] as? Bool } == [true, false])
      let next = try #require(page.json["next"] as? Int)
      let rest = try await api.send("GET", "/v1/conversations/ann/messages?before=\(next)", as: bob)
      #expect(rest.items.map { $0["text"] as? String } == ["hello"] && rest.json["next"] is NSNull)
      // Each has the conversation once, with a separate count.
      let anns = try await api.send("GET", "/v1/conversations", as: ann).items
      #expect(anns.map { ($0["with"] as? [String: Any])?["username"] as? String } == ["bob"])
      #expect(anns.map { $0["unread"] as? Int } == [1])
      #expect((anns.first?["last"] as? [String: Any])?["id"] as? Int == third)
      #expect(try await api.send("GET", "/v1/conversations", as: bob).items.map { $0["unread"] as? Int } == [2])
      // The read position only moves forward.
      for (upTo, unread) in [(second, 0), (0, 0)] {
        let read = try await api.send("POST", "/v1/conversations/ann/read", as: bob, #"{"upTo":\#(upTo)}"#)
        #expect(read.status == 200 && read.json["unread"] as? Int == unread)
      }
      #expect(try await api.send("GET", "/v1/conversations", as: eve).items.isEmpty)
      for name in ["ann", "bob"] {
        #expect(try await api.send("GET", "/v1/conversations/\(name)/messages", as: eve).items.isEmpty)
      }
      // Another account's read position changes nothing here.
      #expect(try await api.send("POST", "/v1/conversations/bob/read", as: eve, #"{"upTo":99}"#).status == 200)
      #expect(try await api.send("GET", "/v1/conversations", as: ann).items.map { $0["unread"] as? Int } == [1])
    }
  }

  @Test func refusalsHaveTheirCodes() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let path = "/v1/conversations/bob/messages"
      let long = String(repeating: "x", count: 2001)
      for method in ["GET", "POST"] {
        #expect(try await api.send(method, path, #"{"text":"x"}"#).code == "not_signed_in")
        let gone = try await api.send(method, path, as: ann, #"{"text":"x"}"#)
        #expect((gone.status, gone.code) == (404, "not_found"))
        let own = try await api.send(method, "/v1/conversations/Ann/messages", as: ann, #"{"text":"x"}"#)
        #expect((own.status, own.code) == (409, "cannot_message_yourself"))
      }
      #expect(try await api.send("GET", "/v1/conversations").code == "not_signed_in")
      #expect(try await api.send("POST", "/v1/conversations/bob/read", #"{"upTo":1}"#).code == "not_signed_in")
      _ = try await api.open("bob")
      for body in [#"{"text":""}"#, #"{"text":" \n"}"#, #"{"text":"\#(long)"}"#, #"{"text":"a\u0000b"}"#, "{}"] {
        let reply = try await api.send("POST", path, as: ann, body)
        #expect((reply.status, reply.code) == (422, "invalid_text"), "\(body.prefix(40))")
      }
      #expect(
        try await api.send("POST", "/v1/conversations/bob/read", as: ann, #"{"upTo":-1}"#).code == "invalid_upTo")
      #expect(try await api.count("SELECT count(*) FROM messages") == 0)
    }
  }

  @Test func aMessageSentAgainWithItsKeyIsOneAndManyAreTooMany() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      _ = try await api.open("bob")
      let path = "/v1/conversations/bob/messages"
      let first = try await api.send("POST", path, as: ann, key: "k", #"{"text":"x"}"#)
      let again = try await api.send("POST", path, as: ann, key: "k", #"{"text":"x"}"#)
      #expect(again.status == 201 && again.json["id"] as? Int == first.json["id"] as? Int)
      for number in 2...60 { _ = try await say("\(number)", to: "bob", as: ann, in: api) }
      let refused = try await api.send("POST", path, as: ann, #"{"text":"one more"}"#)
      #expect((refused.status, refused.code) == (429, "too_many_messages"))
      #expect(try await api.count("SELECT unread FROM inboxes ORDER BY unread DESC LIMIT 1") == 60)
      // A minute passes.
      try await api.pool.execute("UPDATE inboxes SET sending_since = sending_since - interval '1 minute'")
      _ = try await say("61", to: "bob", as: ann, in: api)
    }
  }

  /// Many accounts write to each other and read at once: no deadlock, and copies and counts are right.
  @Test func countsAreRightAfterManyAtOnce() async throws {
    try await API.run { api in
      let names = ["ann", "bob", "cid", "dan"]
      var tokens: [String: String] = [:]
      for name in names { tokens[name] = try await api.open(name) }
      let all = tokens
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (sender, token) in all {
          group.addTask {
            for round in 0..<10 {
              for peer in names where peer != sender {
                let id = try await say("\(round)", to: peer, as: token, in: api)
                if round % 3 == 0 {
                  _ = try await api.send("POST", "/v1/conversations/\(peer)/read", as: token, #"{"upTo":\#(id)}"#)
                }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await api.count("SELECT count(*) FROM messages") == 2 * 4 * 3 * 10)
      #expect(
        try await api.count(
          """
          SELECT count(*) FROM inboxes i
            WHERE unread <> (SELECT sum(unread) FROM conversations c WHERE c.owner_id = i.owner_id)
          """) == 0)
      for (name, token) in all {
        let last = try await api.count("SELECT max(id) FROM messages")
        for peer in names where peer != name {
          _ = try await api.send("POST", "/v1/conversations/\(peer)/read", as: token, #"{"upTo":\#(last)}"#)
        }
      }
      #expect(try await api.count("SELECT sum(unread)::bigint FROM inboxes") == 0)
    }
  }

  /// A cursor is a position in an order shared by all accounts; a page from there shows only the reader's own items.
  @Test func aCursorOfAnotherAccountShowsNothingOfIt() async throws {
    try await API.run { api in
      let (ann, bob, eve) = (try await api.open("ann"), try await api.open("bob"), try await api.open("eve"))
      for text in ["1", "2", "3"] {
        _ = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"\#(text)"}"#)
      }
      let post = try await api.post("a post", as: bob)
      _ = try await api.send("PUT", "/v1/posts/\(post)/like", as: ann)
      try await api.drain("notifications")
      let page = try await api.send("GET", "/v1/conversations/ann/messages?limit=1", as: bob)
      let next = try #require(page.json["next"] as? Int)
      for path in [
        "conversations", "conversations/ann/messages", "conversations/bob/messages", "notifications", "me/likes",
      ] {
        for cursor in [next, next + 1, EntityID.all.upperBound] {
          let reply = try await api.send("GET", "/v1/\(path)?before=\(cursor)", as: eve)
          #expect(reply.status == 200 && reply.items.isEmpty, "\(path) \(cursor)")
        }
      }
    }
  }
}
