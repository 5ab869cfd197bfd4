import DurableJobs
import DurableJobsAdmin
import Foundation
import LibPQClient
import LocalStack
import TestSupport
import Testing

@testable import Social
@testable import SocialAPI

@Suite(.timeLimit(.minutes(2))) struct EventRouteTests {
  @Test func whatComesIsToldToItsOwnerAndNobodyElse() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let post = try await api.post("one", as: ann)
      let anns = try await EventSource(port: api.http.port, token: ann)
      let bobs = try await EventSource(port: api.http.port, token: bob)
      let eves = try await EventSource(port: api.http.port, token: try await api.open("eve"))
      _ = try await api.send("POST", "/v1/posts/\(post)/comments", as: bob, #"{"text":"line\nbreak"}"#)
      try await api.drain("notifications")
      let notification = try #require(await anns.next())
      #expect(notification.name == "notification")
      let told = try notification.fields()
      #expect(told["type"] as? Int == 1 && told["username"] as? String == "bob" && told["postId"] as? Int == post)
      #expect(told["unread"] as? Int == 1)
      let comment = try #require(await anns.next())
      #expect(comment.name == "comment" && comment.id != nil)
      #expect(try comment.fields()["text"] as? String == "line\nbreak")
      _ = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"hello"}"#)
      // Bob gets no event for his own comment or for ann's events: this is his first.
      let message = try #require(await bobs.next())
      let said = try message.fields()
      #expect(message.name == "message" && said["username"] as? String == "ann" && said["text"] as? String == "hello")
      // Nor does a third account get any of it: eve's first event is her own message.
      _ = try await api.send("POST", "/v1/conversations/eve/messages", as: ann, #"{"text":"to eve"}"#)
      #expect(try await eves.next()?.fields()["text"] as? String == "to eve")
    }
  }

  @Test func whoConnectsAgainMissesNothing() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let path = "/v1/conversations/ann/messages"
      let first = try await EventSource(port: api.http.port, token: ann)
      _ = try await api.send("POST", path, as: bob, #"{"text":"1"}"#)
      let heard = try #require(await first.next())
      first.hangUp()
      for number in 2...3 { _ = try await api.send("POST", path, as: bob, #"{"text":"\#(number)"}"#) }
      let second = try await EventSource(port: api.http.port, token: ann, lastEventID: heard.id)
      var texts: [String] = []
      while texts.count < 2 { texts.append(try #require(await second.next()?.fields()["text"] as? String)) }
      #expect(texts == ["2", "3"])
      // Without a cursor the stream starts with new events. With an invalid one, what was missed is unknown as well.
      let third = try await EventSource(port: api.http.port, token: ann, lastEventID: "nonsense")
      #expect(await third.next()?.name == "reset")
      _ = try await api.send("POST", path, as: bob, #"{"text":"4"}"#)
      #expect(try await third.next()?.fields()["text"] as? String == "4")
    }
  }

  @Test func aLookupsEndIsToldToWhoAskedForIt() async throws {
    try await API.run(lookups: LookupRules(keys: [YouTubeKey("a key of the tests")])) { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let anns = try await EventSource(port: api.http.port, token: ann)
      let bobs = try await EventSource(port: api.http.port, token: bob)
      let begun = try await api.send("GET", "/v1/celebs/search?platform=youtube&q=somebody", as: ann)
      let lookup = try #require(begun.json["lookup"] as? String)
      try await api.pool.execute(
        "UPDATE lookups SET state = 'done', ended_at = clock_timestamp() WHERE id::text = \(lookup)")
      let event = try #require(await anns.next())
      #expect(event.name == "lookup")
      #expect(try event.fields() as? [String: String] == ["id": lookup, "state": "done"])
      _ = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"hello"}"#)
      #expect(await bobs.next()?.name == "message")
    }
  }

  @Test func aFanIsToldWhatYouTubeSaysOfItsCeleb() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let channel = "UC_x5XG1OV2P6uZZ5FSM9Ttw"
      _ = try await api.send("PUT", "/v1/me/celebs/youtube/\(channel)", as: ann)
      let anns = try await EventSource(port: api.http.port, token: ann)
      let bobs = try await EventSource(port: api.http.port, token: bob)
      try await api.pool.execute("UPDATE celebs SET state = 'unknown'")
      let event = try #require(await anns.next())
      #expect(event.name == "celeb")
      let said = ["platform": "youtube", "account": channel, "title": channel, "state": "unknown"]
      #expect(try event.fields() as? [String: String] == said)
      // A later client with the earlier cursor gets the event too.
      try await api.pool.execute(
        "INSERT INTO channels (id, title, has_details, fetched_at) VALUES (\(channel), 'Developers', false, now())")
      #expect(try await anns.next()?.fields()["state"] as? String == "verified")
      let late = try await EventSource(port: api.http.port, token: ann, lastEventID: event.id)
      #expect(try await late.next()?.fields()["title"] as? String == "Developers")
      _ = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"hello"}"#)
      #expect(await bobs.next()?.name == "message")
    }
  }

  @Test func streamsAreFewAndEndWithTheSession() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let unsigned = try await api.send("GET", "/v1/events")
      #expect((unsigned.status, unsigned.code) == (401, "not_signed_in"))
      var open: [EventSource] = []
      for _ in 0..<EventStreams.perAccount { open.append(try await EventSource(port: api.http.port, token: ann)) }
      let refused = try await api.send("GET", "/v1/events", as: ann)
      #expect((refused.status, refused.code) == (429, "too_many_streams"))
      #expect(try await api.send("DELETE", "/v1/sessions/current", as: ann).status == 204)
      for source in open { #expect(await source.next() == nil) }
    }
  }

  /// Its connection is closed, which frees its slot and its buffer; others continue.
  @Test func whoDoesNotReadIsCutOff() async throws {
    try await API.run(patience: .milliseconds(100)) { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let bobs = try await EventSource(port: api.http.port, token: bob)
      let deaf = try await EventSource(port: api.http.port, token: ann, isDeaf: true)
      #expect(api.events.count == 2)
      var sent = 0
      while api.events.count == 2 {
        try await api.pool.execute(
          """
          INSERT INTO messages (owner_id, peer_id, id, is_own, text, created_at)
          SELECT a.id, b.id, nextval('message_id_sequence'), false, repeat('x', 2000), now()
          FROM accounts a, accounts b, generate_series(1, 50) WHERE a.username = 'ann' AND b.username = 'bob'
          """)
        sent += 50
        // The pace of events; nothing depends on it.
        try await Task.sleep(for: .milliseconds(2))
      }
      // Only a small part was buffered for it before its connection ended.
      let heard = await deaf.hearRest()
      #expect(heard < 4_000_000, "\(heard) bytes of \(sent) messages")
      _ = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"hello"}"#)
      #expect(await bobs.next()?.name == "message")
      #expect(api.events.count == 1)
    }
  }

  /// Its stream is paused, and goes on from the last event that it got.
  @Test func whoPausesReadingMissesNothingAndGetsNothingTwice() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let (post, deleted) = (try await api.post("one", as: ann), try await api.post("two", as: bob))
      let early = try await EventSource(port: api.http.port, token: ann)
      _ = try await api.send("POST", "/v1/conversations/ann/messages", as: bob, #"{"text":"early"}"#)
      let cursor = try #require(await early.next()?.id)
      early.hangUp()

      @Sendable func comment(_ count: Int) async throws {
        try await api.pool.transaction { transaction in
          try await transaction.execute(
            """
            INSERT INTO comments (post_id, account_id, text)
            SELECT \(post), id, repeat('x', 1900) FROM accounts, generate_series(1, \(count)) WHERE username = 'bob'
            """)
          try await transaction.execute("SELECT log_comments(array_agg(post_id), array_agg(id)) FROM comments")
          try await transaction.execute("SELECT notify_live(ARRAY[\("t\(post)")])")
        }
      }
      // More than the buffers between server and client hold.
      try await comment(2_500)
      let late = try await EventSource(
        port: api.http.port, token: ann, posts: [post, deleted], lastEventID: cursor, isDeaf: true)
      try await eventually("its stream is paused") {
        api.events.streams.streams { $1.isStalled && $1.hasBegun }.count == 1
      }
      let texts = (1...5).map { "message \($0)" }
      for text in texts {
        _ = try await api.send("POST", "/v1/conversations/ann/messages", as: bob, #"{"text":"\#(text)"}"#)
      }
      #expect(try await api.send("DELETE", "/v1/posts/\(deleted)", as: bob).status == 204)
      try await comment(50)
      late.readOn()
      let ids = try await api.pool.query("SELECT id FROM comments ORDER BY id").decode(Int.self)
      var received: (comments: [Int], messages: [String], posts: [Int]) = ([], [], [])
      while received.comments.last != ids.last || received.messages.last != texts.last {
        let event = try #require(await late.next())
        switch event.name {
        case "comment":
          let comment = try event.fields()["comment"] as? [String: Any]
          received.comments.append(try #require(comment?["id"] as? Int))
        case "message": received.messages.append(try #require(try event.fields()["text"] as? String))
        case "post_deleted": received.posts.append(try #require(try event.fields()["postId"] as? Int))
        default: break
        }
      }
      #expect(received.messages == texts && received.posts == [deleted])
      let missed = Set(ids).subtracting(received.comments).sorted()
      #expect(received.comments == ids, "\(received.comments.count) of \(ids.count), without \(missed)")
    }
  }
}
