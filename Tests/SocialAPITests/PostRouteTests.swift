import Foundation
import LibPQClient
import Social
import Testing

@Suite struct PostRouteTests {
  @Test func aPostIsItsAuthorsAlone() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      let id = try await api.post("one", as: ann)
      #expect(id < 1 << 53)
      let edit = try await api.send("PATCH", "/v1/posts/\(id)", as: bob, #"{"title":"mine"}"#)
      #expect((edit.status, edit.code) == (403, "not_yours"))
      let deletion = try await api.send("DELETE", "/v1/posts/\(id)", as: bob)
      #expect((deletion.status, deletion.code) == (403, "not_yours"))
      for (method, path) in [
        ("GET", "/v1/posts/\(id)"), ("PATCH", "/v1/posts/\(id)"), ("DELETE", "/v1/posts/\(id)"), ("POST", "/v1/posts"),
        ("GET", "/v1/feed/home"), ("GET", "/v1/feed/following"), ("GET", "/v1/posts/\(id)/fan-out"),
      ] {
        #expect(try await api.send(method, path, #"{"title":"x"}"#).status == 401, "\(method) \(path)")
      }
      #expect(try await api.send("GET", "/v1/posts/\(id)", as: bob).json["title"] as? String == "one")
      #expect(
        try await api.send("PATCH", "/v1/posts/\(id)", as: ann, #"{"title":"two"}"#).json["title"] as? String == "two")
      #expect(try await api.send("DELETE", "/v1/posts/\(id)", as: ann).status == 204)
      for path in ["\(id)", "0", "-1", "x", "9223372036854775808"] {
        let gone = try await api.send("GET", "/v1/posts/\(path)", as: ann)
        #expect((gone.status, gone.code) == (404, "not_found"), "\(path)")
      }
    }
  }

  @Test func aPostOwesItsFanOutInTheSameTransaction() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let id = try await api.post("one", as: ann)
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'posts.fan-out'") == 1)
      let progress = try await api.send("GET", "/v1/posts/\(id)/fan-out", as: ann)
      #expect(progress.json["done"] as? Bool == false)
      #expect(progress.json["startedAt"] is NSNull)
    }
  }

  @Test func aPostSentAgainWithItsKeyIsOnePost() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      let ids = try await withThrowingTaskGroup(of: Int?.self) { group in
        for _ in 0..<8 {
          group.addTask {
            try await api.send("POST", "/v1/posts", as: ann, key: "k", #"{"title":"one"}"#).json["id"] as? Int
          }
        }
        return try await group.reduce(into: Set<Int?>()) { $0.insert($1) }
      }
      #expect(ids.count == 1)
      #expect(try await api.count("SELECT count(*) FROM posts") == 1)
      #expect(try await api.count("SELECT count(*) FROM jobs") == 1)
      let other = try await api.send("POST", "/v1/posts", as: ann, key: "k", #"{"title":"two"}"#)
      #expect((other.status, other.code) == (422, "idempotency_key_reused"))
      #expect(try await api.send("POST", "/v1/posts", as: bob, key: "k", #"{"title":"one"}"#).status == 201)
    }
  }

  @Test func wrongFieldsAreNamed() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let long = String(repeating: "x", count: 201)
      for (body, code) in [
        (#"{"title":""}"#, "invalid_title"), (#"{"title":"\#(long)"}"#, "invalid_title"), ("{}", "invalid_title"),
        (#"{"title":5}"#, "invalid_title"), (#"{"title":null}"#, "invalid_title"),
        (#"{"title":"x","description":[]}"#, "invalid_description"), (#"{"title":"x","image":7}"#, "use_media"),
        (#"{"title":"a\u0000b"}"#, "invalid_title"),
      ] {
        let reply = try await api.send("POST", "/v1/posts", as: ann, body)
        #expect((reply.status, reply.code) == (422, code), "\(body)")
      }
      for query in ["limit=0", "limit=101", "limit=x"] {
        #expect(try await api.send("GET", "/v1/feed/home?\(query)", as: ann).code == "invalid_limit", "\(query)")
      }
      #expect(try await api.send("GET", "/v1/feed/home?before=x", as: ann).code == "invalid_before")
      #expect(try await api.send("GET", "/v1/feed/following?own=maybe", as: ann).code == "invalid_own")
      #expect(try await api.count("SELECT count(*) FROM posts") == 0)
    }
  }

  @Test func pagesFollowOneAnother() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      var ids: [Int] = []
      for number in 0..<5 { ids.append(try await api.post("post \(number)", as: ann)) }
      var seen: [Int] = []
      var path: String? = "/v1/feed/home?limit=2"
      while let next = path {
        let page = try await api.send("GET", next, as: ann)
        seen += page.items.compactMap { $0["id"] as? Int }
        path = (page.json["next"] as? Int).map { "/v1/feed/home?limit=2&before=\($0)" }
      }
      #expect(seen == ids.reversed())
    }
  }

  @Test func aPostOfALargeAuthorIsThereAtOnce() async throws {
    try await API.run(feeds: FeedRules(pushLimit: 1, notesReaders: true)) { api in
      let (ann, bob, cat) = (try await api.open("ann"), try await api.open("bob"), try await api.open("cat"))
      var posts: [Int] = []
      for reader in [bob, cat] {
        #expect(try await api.send("PUT", "/v1/users/ann/follow", as: reader).status == 204)
        posts.append(try await api.post("News", as: ann))
      }
      let modes = ["push", "pull"]
      for (post, mode) in zip(posts, modes) {
        let progress = try await api.send("GET", "/v1/posts/\(post)/fan-out", as: bob)
        #expect(progress.json["mode"] as? String == mode)
        #expect(progress.json["done"] as? Bool == (mode == "pull"))
      }
      // No job has run.
      for reader in [bob, cat] {
        let feed = try await api.send("GET", "/v1/feed/following", as: reader)
        #expect(feed.items.first?["id"] as? Int == posts[1])
      }
      #expect(try await api.count("SELECT count(*) FROM feed_readers WHERE read_on = current_date") == 2)
    }
  }

  @Test func whoComesBackFindsTheFeed() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      #expect(try await api.send("PUT", "/v1/users/ann/follow", as: bob).status == 204)
      try await api.pool.execute(
        "INSERT INTO feed_sleepers (account_id) SELECT id FROM accounts WHERE username = 'bob'")
      let post = try await api.post("News", as: ann)
      for queue in [SocialJobs.fanOutQueue, SocialJobs.bulkQueue] { try await api.drain(queue) }
      #expect(try await api.count("SELECT count(*) FROM following_user_posts") == 0)
      for _ in 0..<2 {
        let feed = try await api.send("GET", "/v1/feed/following", as: bob)
        #expect(feed.items.map { $0["id"] as? Int } == [post])
      }
      #expect(try await api.count("SELECT count(*) FROM jobs.jobs WHERE kind = 'feed.refill'") == 1)
      try await api.drain(SocialJobs.bulkQueue)
      #expect(try await api.count("SELECT count(*) FROM feed_sleepers") == 0)
      #expect(try await api.count("SELECT count(*) FROM following_user_posts") == 1)
      let feed = try await api.send("GET", "/v1/feed/following", as: bob)
      #expect(feed.items.map { $0["id"] as? Int } == [post])
    }
  }
}
