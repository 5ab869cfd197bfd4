import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import SocialAdmin
import TestSupport
import Testing

@testable import Social

/// Reports, takedowns and suspensions: hidden content is hidden from everyone at once, and is restored exactly.
@Suite(.timeLimit(.minutes(2))) struct SafetyRouteTests {
  private func client(_ api: API) -> JobClient<RedisBroker, PostgresLedger> {
    JobClient(broker: api.broker, ledger: PostgresLedger(pool: api.pool), logger: logger)
  }

  private func admin(_ api: API) -> SafetyAdmin { SafetyAdmin(JobsDatabase(pool: api.pool)) }

  /// Everything that an account can read.
  private func view(as token: String, posts: [Int], _ api: API) async throws -> [String: String] {
    let paths =
      [
        "feed/home", "feed/following?own=true", "me/likes", "notifications", "notifications?grouped=false",
        "notifications/unread", "users?query=a", "posts?query=", "posts?query=bad", "users/ann", "users/ann/posts",
        "users/bob/followers",
      ]
      + posts.flatMap { ["posts/\($0)", "posts/\($0)/comments"] }
    var view: [String: String] = [:]
    for path in paths {
      let json = try await api.send("GET", "/v1/\(path)", as: token).json
      view[path] = String(
        decoding: try JSONSerialization.data(withJSONObject: json, options: .sortedKeys), as: UTF8.self)
    }
    return view
  }

  private func report(_ body: String, as token: String, _ api: API) async throws -> API.Reply {
    try await api.send("POST", "/v1/reports", as: token, body)
  }

  private func drain(_ api: API) async throws {
    for queue in [SocialJobs.fanOutQueue, SocialJobs.bulkQueue, SocialJobs.notificationQueue, SocialJobs.mailQueue] {
      try await api.drain(queue)
    }
  }

  @Test("What is reported is read by operators, once for each reporter, as it was when it was reported")
  func reports() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let post = try await api.post("Bad words", as: ann)
      let comment = try await api.send("POST", "/v1/posts/\(post)/comments", as: ann, #"{"text":"worse ones"}"#)
      let commentID = try #require(comment.json["id"] as? Int)
      let message = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"and this"}"#)
      let messageID = try #require(message.json["id"] as? Int)
      let bodies = [
        #"{"post":\#(post),"reason":"hate","text":"look"}"#,
        #"{"post":\#(post),"comment":\#(commentID),"reason":"harassment"}"#,
        #"{"user":"Ann","reason":"spam"}"#, #"{"message":\#(messageID),"reason":"other"}"#,
      ]
      var ids: [Int] = []
      for body in bodies {
        let first = try await report(body, as: bob, api)
        #expect(first.status == 201, "\(body) \(first.json)")
        ids.append(try #require(first.json["id"] as? Int))
        #expect(try await report(body, as: bob, api).json["id"] as? Int == ids.last)
      }
      #expect(try await api.count("SELECT count(*) FROM reports") == 4)
      #expect(try await api.send("DELETE", "/v1/posts/\(post)", as: ann).status == 204)
      let page = try await admin(api).reports(limit: 3)
      #expect(page.items.map(\.id) == Array(ids.reversed().prefix(3)) && page.next == String(ids[1]))
      let first = try await admin(api).report(ids[0])
      #expect(first.excerpt == "Bad words" && first.text == "look" && first.author == "ann" && first.reporter == "bob")
      #expect(try await admin(api).report(ids[3]).excerpt == "and this")

      for (body, status, code) in [
        (#"{"post":\#(post),"reason":"hate"}"#, 404, "not_found"),
        (#"{"user":"bob","reason":"spam"}"#, 409, "cannot_report_yourself"),
        (#"{"user":"ann","reason":"dislike"}"#, 422, "invalid_reason"), (#"{"reason":"spam"}"#, 422, "invalid_post"),
        (#"{"user":"ann","message":1,"reason":"spam"}"#, 422, "invalid_post"),
        (#"{"comment":1,"reason":"spam"}"#, 422, "invalid_post"),
        (#"{"user":"ann","reason":"spam","text":"\#(String(repeating: "x", count: 1001))"}"#, 422, "invalid_text"),
      ] {
        let refusal = try await report(body, as: bob, api)
        #expect((refusal.status, refusal.code) == (status, code), "\(body)")
      }
      #expect(try await report(bodies[2], as: ann, api).code == "cannot_report_yourself")
      #expect(try await api.send("POST", "/v1/reports", bodies[2]).code == "not_signed_in")
      // An account cannot report its own message, and a stranger cannot report a message of others.
      #expect(try await report(bodies[3], as: ann, api).code == "not_found")
      let eve = try await api.open("eve")
      #expect(try await report(bodies[3], as: eve, api).code == "not_found")

      let closed = try await admin(api).resolve(
        ids[2], as: .dismissed, because: "harmless", by: .terminal, through: client(api))
      #expect(closed.resolution == "dismissed")
      await #expect(throws: OperationError.self) {
        _ = try await admin(api).resolve(ids[2], as: .suspended, because: "x", by: .terminal, through: client(api))
      }
      #expect(try await report(bodies[2], as: bob, api).json["id"] as? Int != ids[2])
    }
  }

  @Test("What a removed account wrote is no longer reported")
  func removedAuthors() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let message = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"hello"}"#)
      let body = #"{"message":\#(try #require(message.json["id"] as? Int)),"reason":"spam"}"#
      #expect(try await api.send("DELETE", "/v1/me", as: ann, #"{"password":"a password"}"#).status == 204)
      #expect(try await report(body, as: bob, api).code == "not_found")
      try await drain(api)
      try await eventually("the account is removed") {
        try await drain(api)
        return try await api.count("SELECT count(*) FROM hidden_accounts") == 0
      }
      #expect(try await report(body, as: bob, api).code == "not_found")
      #expect(try await LeftoverAudit.run(on: api.pool).isClean)
    }
  }

  @Test("An account makes so many reports an hour")
  func reportLimit() async throws {
    try await API.run { api in
      let bob = try await api.open("bob")
      for number in 0..<Reports.limit {
        _ = try await api.open("account\(number)")
        #expect(try await report(#"{"user":"account\#(number)","reason":"spam"}"#, as: bob, api).status == 201)
      }
      _ = try await api.open("last")
      let refusal = try await report(#"{"user":"last","reason":"spam"}"#, as: bob, api)
      #expect((refusal.status, refusal.code) == (429, "too_many_reports"))
      #expect(refusal.headers["retry-after"] != nil)
    }
  }

  @Test("What is taken down or suspended is gone for everybody at once, and restored exactly")
  func takedowns() async throws {
    try await API.run { api in
      let (ann, bob, cat) = (try await api.open("ann"), try await api.open("bob"), try await api.open("cat"))
      for (follower, name) in [(bob, "ann"), (cat, "ann"), (ann, "bob")] {
        #expect(try await api.send("PUT", "/v1/users/\(name)/follow", as: follower).status == 204)
      }
      let (post, other) = (try await api.post("Ann's", as: ann), try await api.post("Bob's", as: bob))
      for token in [ann, bob, cat] {
        for id in [post, other] {
          #expect(try await api.send("PUT", "/v1/posts/\(id)/like", as: token).status == 204)
          let said = try await api.send("POST", "/v1/posts/\(id)/comments", as: token, #"{"text":"nice"}"#)
          #expect(said.status == 201)
        }
      }
      try await drain(api)
      let comment = try await api.count(
        "SELECT id FROM comments c WHERE post_id = \(other) AND account_id = (SELECT id FROM accounts WHERE username = 'ann')"
      )
      let posts = [post, other]
      func everybodysView() async throws -> [[String: String]] {
        var views: [[String: String]] = []
        for token in [ann, bob, cat] { views.append(try await view(as: token, posts: posts, api)) }
        return views
      }
      let before = try await everybodysView()
      let safety = admin(api)

      for subject in ["post/\(post)", "comment/\(other)/\(comment)"] {
        for _ in 0..<2 {
          try await safety.takeDown(subject, because: "rude", by: .terminal, through: client(api))
        }
        let down = try await everybodysView()
        for (token, view) in zip([ann, bob, cat], down) {
          if subject.hasPrefix("post") {
            #expect(!view.contains { $0.value.contains("Ann's") }, "\(view.filter { $0.value.contains("Ann's") })")
            #expect(try await api.send("GET", "/v1/posts/\(post)", as: token).status == 404)
            #expect(try await api.send("PATCH", "/v1/posts/\(post)", as: ann, #"{"title":"new"}"#).status == 404)
          } else {
            let shown = try await api.send("GET", "/v1/posts/\(other)", as: token)
            #expect(shown.json["comments"] as? Int == 2)
            #expect(try await api.send("GET", "/v1/posts/\(other)/comments", as: token).items.count == 2)
          }
        }
        #expect(try await PostCountAudit.run(on: api.pool).isExact)
        #expect(try await FeedAudit.run(on: api.pool).isExact)
        #expect(try await safety.takedowns().map(\.subject) == [subject])
        for _ in 0..<2 { try await safety.restore(subject, because: "it was not", by: .terminal, through: client(api)) }
        #expect(try await everybodysView() == before)
        #expect(try await safety.takedowns().isEmpty)
      }
      #expect(try await PostCountAudit.run(on: api.pool).isExact)

      let accounts = AccountAdmin(JobsDatabase(pool: api.pool))
      _ = try await accounts.suspend("ann", because: "rude", by: .terminal, through: client(api))
      for token in [bob, cat] {
        let view = try await view(as: token, posts: posts, api)
        #expect(!view.contains { $0.value.contains("Ann's") || $0.value.contains(#""ann""#) })
        #expect(try await api.send("GET", "/v1/users/ann", as: token).status == 404)
      }
      #expect(try await api.send("GET", "/v1/me", as: ann).status == 401)
      _ = try await accounts.restore("ann", because: "sorry", by: .terminal, through: client(api))
      let back = try await api.pool.transaction { transaction in
        try await Sessions.open(for: try await Accounts.id(of: "ann", in: transaction), in: transaction).text
      }
      for (token, old) in zip([back, bob, cat], before) {
        let after = try await view(as: token, posts: posts, api)
        for (path, body) in old { #expect(after[path] == body, "\(path)") }
      }
      // Each owner is notified once about its own content.
      let notices = try await api.send("GET", "/v1/me/notices?limit=4", as: back)
      let actions = notices.items.map { "\($0["action"] ?? "") \($0["subject"] ?? "") \($0["reason"] ?? "")" }
      let id = try await api.count("SELECT id FROM accounts WHERE username = 'ann'")
      #expect(
        actions == [
          "reopened account/\(id) sorry", "suspended account/\(id) rude",
          "restored comment/\(other)/\(comment) it was not", "taken_down comment/\(other)/\(comment) rude",
        ])
      #expect(notices.json["next"] as? Int != nil)
      #expect(try await api.send("GET", "/v1/me/notices", as: bob).items.isEmpty)
      #expect(try await api.send("GET", "/v1/me/notices").code == "not_signed_in")
    }
  }

  @Test("Only what is there and can be taken down is")
  func takedownRefusals() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      let safety = admin(api)
      for subject in ["", "post", "post/", "post/x", "post/-1", "comment/1", "picture/../x", "video/1", "post/1/2"] {
        let error = await #expect(throws: OperationError.self) {
          try await safety.takeDown(subject, because: "x", by: .terminal, through: client(api))
        }
        #expect(error?.code == .usage)
      }
      for (subject, code) in [
        ("post/1", SocialError.Code.notFound), ("comment/1/2", .notFound), ("picture/\(MediaID())", .notFound),
        ("account/1", .cannotTakeDown), ("message/1", .cannotTakeDown),
      ] {
        let error = await #expect(throws: SocialError.self) {
          try await safety.takeDown(subject, because: "x", by: .terminal, through: client(api))
        }
        #expect(error?.code == code)
      }
      #expect(try await api.count("SELECT count(*) FROM takedowns") == 0)
      #expect(try await api.count("SELECT count(*) FROM actions") == 0)
    }
  }
}
