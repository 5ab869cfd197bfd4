import DurableJobs
import Foundation
import LibPQClient
import LocalStack
import Social
import TestSupport
import Testing

/// `block` and `mute` keep two accounts apart, on every route.
@Suite(.timeLimit(.minutes(2))) struct BlockRouteTests {
  /// Two accounts with every relation to one another, and a third with every relation to both.
  private struct World {
    let api: API
    let (ann, bob, cat): (String, String, String)
    /// Of ann and of bob.
    let (annsPost, bobsPost, catsPost): (Int, Int, Int)
    /// On cat's post, of ann and of bob.
    let (annsComment, bobsComment): (Int, Int)
    /// From bob to ann and from ann to bob.
    let (toAnn, toBob): (Int, Int)

    init(_ api: API) async throws {
      self.api = api
      (ann, bob, cat) = (try await api.open("ann"), try await api.open("bob"), try await api.open("cat"))
      (annsPost, bobsPost) = (try await api.post("Ann's", as: ann), try await api.post("Bob's", as: bob))
      catsPost = try await api.post("Cat's", as: cat)
      for (follower, name) in [(ann, "bob"), (bob, "ann"), (cat, "ann"), (cat, "bob"), (ann, "cat"), (bob, "cat")] {
        #expect(try await api.send("PUT", "/v1/users/\(name)/follow", as: follower).status == 204)
      }
      for (post, account) in [(annsPost, bob), (bobsPost, ann), (catsPost, ann), (catsPost, bob)] {
        #expect(try await api.send("PUT", "/v1/posts/\(post)/like", as: account).status == 204)
      }
      annsComment = try await Self.comment(catsPost, as: ann, in: api)
      bobsComment = try await Self.comment(catsPost, as: bob, in: api)
      _ = try await Self.comment(annsPost, as: bob, in: api)
      _ = try await Self.comment(bobsPost, as: ann, in: api)
      toBob = try await Self.say("hello", to: "bob", as: ann, in: api)
      toAnn = try await Self.say("hi", to: "ann", as: bob, in: api)
      for queue in [SocialJobs.fanOutQueue, SocialJobs.bulkQueue, SocialJobs.notificationQueue] {
        try await api.drain(queue)
      }
    }

    static func comment(_ post: Int, as token: String, in api: API) async throws -> Int {
      let reply = try await api.send("POST", "/v1/posts/\(post)/comments", as: token, #"{"text":"nice"}"#)
      return try #require(reply.json["id"] as? Int, "\(reply.json)")
    }

    static func say(_ text: String, to name: String, as token: String, in api: API) async throws -> Int {
      let reply = try await api.send("POST", "/v1/conversations/\(name)/messages", as: token, #"{"text":"\#(text)"}"#)
      return try #require(reply.json["id"] as? Int, "\(reply.json)")
    }

    /// Every list that an account reads, with the usernames in it.
    func lists(as token: String) async throws -> [String: Set<String>] {
      var found: [String: Set<String>] = [:]
      let paths = [
        "feed/home", "feed/following", "me/likes", "notifications", "notifications?grouped=false", "conversations",
        "users?query=a", "users?query=b", "users", "posts", "users/cat/followers", "users/cat/following",
        "posts/\(catsPost)/comments",
        "posts/\(catsPost)/comments?order=oldest",
      ]
      for path in paths {
        let reply = try await api.send("GET", "/v1/\(path)", as: token)
        try #require(reply.status == 200, "\(path): \(reply.status) \(reply.json)")
        found[path] = Self.names(in: reply.json)
      }
      return found
    }

    private static func names(in json: Any) -> Set<String> {
      switch json {
      case let object as [String: Any]:
        var names = object.values.reduce(into: Set<String>()) { $0.formUnion(Self.names(in: $1)) }
        if let name = object["username"] as? String { names.insert(name) }
        return names
      case let list as [Any]: return list.reduce(into: []) { $0.formUnion(Self.names(in: $1)) }
      default: return []
      }
    }

    /// The requests of `token` about the other's name or ids: method, path and body.
    func requests(about name: String, post: Int, comment: Int, message: Int) -> [(String, String, String?)] {
      [
        ("GET", "users/\(name)", nil), ("GET", "users/\(name)/posts", nil), ("GET", "users/\(name)/followers", nil),
        ("GET", "users/\(name)/following", nil), ("PUT", "users/\(name)/follow", nil),
        ("DELETE", "users/\(name)/follow", nil), ("GET", "posts/\(post)", nil), ("GET", "posts/\(post)/fan-out", nil),
        ("PUT", "posts/\(post)/like", nil), ("DELETE", "posts/\(post)/like", nil),
        ("GET", "posts/\(post)/comments", nil), ("POST", "posts/\(post)/comments", #"{"text":"hey"}"#),
        ("GET", "conversations/\(name)/messages", nil), ("POST", "conversations/\(name)/messages", #"{"text":"hey"}"#),
        ("POST", "conversations/\(name)/read", #"{"upTo":1}"#),
        ("POST", "reports", #"{"user":"\#(name)","reason":"spam"}"#),
        ("POST", "reports", #"{"post":\#(post),"reason":"spam"}"#),
        ("POST", "reports", #"{"post":\#(catsPost),"comment":\#(comment),"reason":"spam"}"#),
        ("POST", "reports", #"{"message":\#(message),"reason":"spam"}"#),
      ]
    }
  }

  @Test("Who is blocked appears to the other on no route, in both directions, and is back afterwards")
  func everyRoute() async throws {
    try await API.run { api in
      let world = try await World(api)
      let (ann, bob, cat) = (world.ann, world.bob, world.cat)
      let before = [ann: try await world.lists(as: ann), bob: try await world.lists(as: bob)]
      // Each list must show the other, or the test proves nothing.
      let own = ["users?query=a", "users?query=b"]
      for (path, names) in try #require(before[ann]) where !own.contains(path) {
        #expect(names.contains("bob"), "\(path): \(names)")
      }
      let cats = try await world.lists(as: cat)
      let unread = try await api.send("GET", "/v1/notifications/unread", as: bob).json["unread"] as? Int

      for _ in 0..<2 { #expect(try await api.send("PUT", "/v1/users/Bob/block", as: ann).status == 204) }
      for (path, names) in try await world.lists(as: ann) { #expect(!names.contains("bob"), "\(path)") }
      for (path, names) in try await world.lists(as: bob) { #expect(!names.contains("ann"), "\(path)") }
      #expect(try await world.lists(as: cat) == cats)
      let left = try await api.send("GET", "/v1/notifications/unread", as: bob).json["unread"] as? Int
      #expect(try #require(left) < (try #require(unread)))
      for (token, requests) in [
        (bob, world.requests(about: "ann", post: world.annsPost, comment: world.annsComment, message: world.toBob)),
        (ann, world.requests(about: "bob", post: world.bobsPost, comment: world.bobsComment, message: world.toAnn)),
      ] {
        for (method, path, body) in requests {
          let reply = try await api.send(method, "/v1/\(path)", as: token, body)
          #expect((reply.status, reply.code) == (404, "not_found"), "\(method) \(path) \(body ?? "")")
        }
      }
      #expect(try await api.count("SELECT count(*) FROM reports") == 0)

      // Only the blocking account sees the block, and ends it.
      let blocks = try await api.send("GET", "/v1/me/blocks", as: ann).items
      #expect(blocks.map { $0["username"] as? String } == ["bob"] && blocks[0]["since"] is String)
      #expect(try await api.send("GET", "/v1/me/blocks", as: bob).items.isEmpty)
      #expect(try await api.send("DELETE", "/v1/users/ann/block", as: bob).status == 204)
      #expect(try await api.send("GET", "/v1/users/bob", as: ann).status == 404)
      for _ in 0..<2 { #expect(try await api.send("DELETE", "/v1/users/bob/block", as: ann).status == 204) }
      #expect(try await api.count("SELECT count(*) FROM restrictions") == 0)
      // Everything is back except the follows, which ended, and their effects.
      for token in [ann, bob] {
        let after = try await world.lists(as: token)
        for (path, names) in try #require(before[token]) where path != "feed/following" {
          #expect(after[path] == names, "\(path)")
        }
      }
      #expect(try await api.send("GET", "/v1/users/bob", as: ann).json["isFollowed"] as? Bool == false)
      let audit = try await FeedAudit.run(on: api.pool)
      #expect(audit.isExact && audit.pending == 0)
    }
  }

  @Test("A block that both made ends when both end it")
  func mutualBlocks() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      #expect(try await api.send("PUT", "/v1/users/bob/block", as: ann).status == 204)
      #expect(try await api.send("PUT", "/v1/users/ann/block", as: bob).status == 204)
      #expect(try await api.send("PUT", "/v1/users/bob/mute", as: ann).status == 204)
      #expect(try await api.send("DELETE", "/v1/users/bob/block", as: ann).status == 204)
      #expect(try await api.send("GET", "/v1/users/bob", as: ann).status == 404)
      #expect(try await api.send("DELETE", "/v1/users/ann/block", as: bob).status == 204)
      #expect(try await api.send("GET", "/v1/users/bob", as: ann).json["isMuted"] as? Bool == true)
      #expect(try await api.send("GET", "/v1/users/ann", as: bob).json["isMuted"] as? Bool == false)
      #expect(try await api.send("DELETE", "/v1/users/bob/mute", as: ann).status == 204)
      #expect(try await api.count("SELECT count(*) FROM restrictions") == 0)
    }
  }

  @Test("Who is blocked learns no new name of who blocked them")
  func newNames() async throws {
    try await API.run { api in
      let (ann, bob, cat) = (try await api.open("ann"), try await api.open("bob"), try await api.open("cat"))
      let id = try #require(try await api.send("GET", "/v1/me", as: ann).json["id"] as? Int)
      #expect(try await api.send("PUT", "/v1/users/ann/mute", as: bob).status == 204)
      // Bob has read both conversations.
      for (sender, name) in [(ann, "ann"), (cat, "cat")] {
        let sent = try await api.send("POST", "/v1/conversations/bob/messages", as: sender, #"{"text":"hello"}"#)
        let read = #"{"upTo":\#(try #require(sent.json["id"] as? Int))}"#
        #expect(try await api.send("POST", "/v1/conversations/\(name)/read", as: bob, read).status == 200)
      }
      #expect(try await api.send("PUT", "/v1/users/bob/block", as: ann).status == 204)
      #expect(try await api.send("PATCH", "/v1/me", as: ann, #"{"username":"anna"}"#).status == 200)

      #expect(try await api.send("GET", "/v1/me/mutes", as: bob).items.isEmpty)
      for (method, path) in [("PUT", "mute"), ("DELETE", "mute"), ("PUT", "block"), ("DELETE", "block")] {
        let reply = try await api.send(method, "/v1/users/ann/\(path)", as: bob)
        #expect((reply.status, reply.code) == (404, "not_found"), "\(method) \(path)")
      }
      let events = try await EventSource(port: api.http.port, token: bob, lastEventID: "999-999-999-0-999")
      let read = try #require(await events.next())
      #expect(read.name == "read")
      #expect(try read.fields()["username"] as? String == "cat")

      // A block of his own is listed without her name, and ended by her id.
      #expect(try await api.send("PUT", "/v1/users/anna/block", as: bob).status == 204)
      let blocks = try await api.send("GET", "/v1/me/blocks", as: bob).items
      #expect(blocks.map { $0["username"] as? String } == ["~\(id)"])
      #expect(blocks.map { $0["name"] as? String } == ["hidden account"])
      #expect(try await api.send("DELETE", "/v1/users/~\(id)/block", as: cat).status == 404)
      #expect(try await api.send("DELETE", "/v1/users/~\(id)/block", as: bob).status == 204)
      #expect(try await api.send("DELETE", "/v1/users/~\(id)/block", as: bob).status == 404)

      #expect(try await api.send("DELETE", "/v1/users/bob/block", as: ann).status == 204)
      #expect(try await api.send("GET", "/v1/me/mutes", as: bob).items.map { $0["username"] as? String } == ["anna"])
      let moved = try await api.send("DELETE", "/v1/users/ann/mute", as: bob)
      #expect(moved.status == 308 && moved.headers["location"] == "/v1/users/anna/mute")
    }
  }

  @Test("A mute ends while the block of the same account does")
  func endsTogether() async throws {
    try await API.run { api in
      let (ann, _) = (try await api.open("ann"), try await api.open("bob"))
      for path in ["block", "mute"] {
        #expect(try await api.send("PUT", "/v1/users/bob/\(path)", as: ann).status == 204)
      }
      let unblocking = try await api.pool.dedicatedConnection()
      try await unblocking.execute("BEGIN")
      try await unblocking.execute("UPDATE restrictions SET blocked_at = NULL WHERE blocked_at IS NOT NULL")
      async let reply = api.send("DELETE", "/v1/users/bob/mute", as: ann)
      try await eventually("the mute's end waits") {
        try await api.count(
          """
          SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%restrictions%'
          """) == 1
      }
      try await unblocking.execute("COMMIT")
      await unblocking.close()
      #expect(try await reply.status == 204)
      #expect(try await api.count("SELECT count(*) FROM restrictions WHERE muted_at IS NOT NULL") == 0)
    }
  }

  @Test("A mute keeps what somebody does out of feeds, threads and notifications, and nobody else knows it")
  func mutes() async throws {
    try await API.run { api in
      let world = try await World(api)
      let (ann, bob) = (world.ann, world.bob)
      let bobs = try await world.lists(as: bob)
      let before = try await world.lists(as: ann)
      for _ in 0..<2 { #expect(try await api.send("PUT", "/v1/users/bob/mute", as: ann).status == 204) }
      let muted = try await world.lists(as: ann)
      let hiding: Set = [
        "feed/home", "feed/following", "posts", "notifications", "notifications?grouped=false",
        "posts/\(world.catsPost)/comments", "posts/\(world.catsPost)/comments?order=oldest",
      ]
      for (path, names) in before {
        #expect(muted[path] == (hiding.contains(path) ? names.subtracting(["bob"]) : names), "\(path)")
      }
      #expect(try await world.lists(as: bob) == bobs)
      #expect(try await api.send("GET", "/v1/me/mutes", as: ann).items.map { $0["username"] as? String } == ["bob"])
      #expect(try await api.send("GET", "/v1/me/mutes", as: bob).items.isEmpty)
      #expect(try await api.send("GET", "/v1/posts/\(world.bobsPost)", as: ann).status == 200)
      for _ in 0..<2 { #expect(try await api.send("DELETE", "/v1/users/bob/mute", as: ann).status == 204) }
      #expect(try await world.lists(as: ann) == before)
    }
  }

  @Test("Refusals have their codes")
  func refusals() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      for path in ["block", "mute"] {
        for method in ["PUT", "DELETE"] {
          #expect(try await api.send(method, "/v1/users/ann/\(path)").code == "not_signed_in")
          #expect(try await api.send(method, "/v1/users/nobody/\(path)", as: ann).code == "not_found")
        }
        let own = try await api.send("PUT", "/v1/users/ann/\(path)", as: ann)
        #expect((own.status, own.code) == (409, "cannot_block_yourself"))
        #expect(try await api.send("GET", "/v1/me/\(path)s").code == "not_signed_in")
      }
    }
  }

  /// No follow survives a race with a block, whichever comes first.
  @Test("A follow that races a block never outlives it")
  func races() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      _ = try await api.post("a post", as: ann)
      for _ in 0..<40 {
        async let block = api.send("PUT", "/v1/users/bob/block", as: ann)
        async let first = api.send("PUT", "/v1/users/ann/follow", as: bob)
        async let second = api.send("PUT", "/v1/users/bob/follow", as: ann)
        _ = try await (first, second)
        #expect(try await block.status == 204)
        #expect(try await api.count("SELECT count(*) FROM follows") == 0)
        #expect(try await api.count("SELECT count(*) FROM following_user_posts") == 0)
        #expect(try await api.send("DELETE", "/v1/users/bob/block", as: ann).status == 204)
      }
    }
  }
}
