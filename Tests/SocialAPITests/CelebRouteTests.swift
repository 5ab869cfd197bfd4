import Foundation
import LibPQClient
import Locking
import Social
import TestSupport
import Testing

@Suite struct CelebRouteTests {
  private let channel = "UC_x5XG1OV2P6uZZ5FSM9Ttw"
  private var path: String { "/v1/me/celebs/youtube/\(channel)" }

  @Test func aFanRegistersListsAndRemoves() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      let made = try await api.send("PUT", path, as: ann)
      #expect(made.status == 200 && made.json["title"] as? String == channel)
      #expect(try await api.send("PUT", path, as: ann).status == 200)
      #expect(try await api.send("PUT", "/v1/me/celebs/instagram/An.Artist", as: ann).status == 200)
      let own = try await api.send("GET", "/v1/me/celebs", as: ann).items
      #expect(own.map { $0["platform"] as? String } == ["youtube", "instagram"])
      #expect(own.map { $0["account"] as? String } == [channel, "an.artist"])
      #expect(own.map { $0["title"] as? String } == [channel, "an.artist"])
      #expect(
        own.map { $0["url"] as? String } == [
          "https://www.youtube.com/channel/\(channel)", "https://www.instagram.com/an.artist/",
        ])
      #expect(own.allSatisfy { $0["count"] as? Int == 0 && $0["recent"] is NSNull && $0["since"] is String })
      // Another account has its own list.
      #expect(try await api.send("GET", "/v1/me/celebs", as: bob).items.isEmpty)
      #expect(try await api.send("DELETE", path, as: bob).status == 204)
      #expect(try await api.send("GET", "/v1/me/celebs", as: ann).items.count == 2)
      #expect(try await api.send("DELETE", path, as: ann).status == 204)
      #expect(try await api.send("DELETE", path, as: ann).status == 204)
      #expect(try await api.send("GET", "/v1/me/celebs", as: ann).items.count == 1)
    }
  }

  @Test func noFanNamesACelebForOthers() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      let named = #"{"title":"Send money to ann","url":"https://phishing.example"}"#
      for path in [path, "/v1/me/celebs/instagram/artist"] {
        #expect(try await api.send("PUT", path, as: ann, named).status == 200)
        #expect(try await api.send("PUT", path, as: bob).status == 200)
      }
      // As a process of an older version writes them.
      try await api.pool.pipeline([
        "SELECT register_celeb(id, 'youtube', \(channel), 'Bait', 'https://phishing.example', 3, NULL) FROM accounts",
        "UPDATE celebs SET title = 'Bait', url = 'https://phishing.example' WHERE platform = 'instagram'",
      ])
      #expect(try await api.count("SELECT count(*) FROM celebs WHERE platform = 'youtube' AND title IS NULL") == 1)
      for fan in [ann, bob] {
        let own = try await api.send("GET", "/v1/me/celebs", as: fan).items
        #expect(own.map { $0["title"] as? String } == [channel, "artist"])
        #expect(
          own.map { $0["url"] as? String } == [
            "https://www.youtube.com/channel/\(channel)", "https://www.instagram.com/artist/",
          ])
      }
      // The channel's own name is shown to all.
      try await api.pool.execute(
        "INSERT INTO channels (id, title, has_details, fetched_at) VALUES (\(channel), 'Developers', false, now())")
      let own = try await api.send("GET", "/v1/me/celebs", as: bob).items
      #expect(own.map { $0["title"] as? String } == ["Developers", "artist"])
    }
  }

  @Test func whatIsWrongIsNamed() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      for (method, path) in [
        ("GET", "/v1/me/celebs"), ("PUT", path), ("DELETE", path), ("POST", path + "/hearts"),
        ("GET", path + "/certificate"), ("GET", "/v1/rankings/youtube"),
      ] {
        #expect(try await api.send(method, path).status == 401, "\(method) \(path)")
      }
      for (method, path, status, code) in [
        ("PUT", "/v1/me/celebs/vine/x", 422, "unknown_platform"),
        ("DELETE", "/v1/me/celebs/vine/x", 422, "unknown_platform"),
        ("POST", "/v1/me/celebs/vine/x/hearts", 422, "unknown_platform"),
        ("GET", "/v1/me/celebs/vine/x/certificate", 422, "unknown_platform"),
        ("GET", "/v1/rankings/vine", 422, "unknown_platform"),
        ("PUT", "/v1/me/celebs/youtube/short", 422, "invalid_account"),
        ("PUT", "/v1/me/celebs/instagram/a..b", 422, "invalid_account"),
        ("POST", path + "/hearts", 404, "celeb_not_registered"),
        ("GET", path + "/certificate", 404, "celeb_not_registered"),
        ("GET", "/v1/rankings/youtube?by=views", 422, "invalid_by"),
        ("GET", "/v1/rankings/youtube?window=year", 422, "invalid_window"),
        ("GET", "/v1/rankings/youtube?limit=101", 422, "invalid_limit"),
        ("GET", "/v1/rankings/youtube?before=131073", 422, "invalid_before"),
      ] {
        let reply = try await api.send(method, path, as: ann)
        #expect((reply.status, reply.code) == (status, code), "\(method) \(path)")
      }
      for number in 1...3 {
        #expect(try await api.send("PUT", "/v1/me/celebs/instagram/artist\(number)", as: ann).status == 200)
      }
      let fourth = try await api.send("PUT", "/v1/me/celebs/instagram/artist4", as: ann)
      #expect((fourth.status, fourth.code) == (409, "celeb_limit"))
      #expect(try await api.count("SELECT count(*) FROM celebs") == 3)
    }
  }

  @Test func aCelebIsShownToWhoIsAFanAndWhoIsNot() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let shown = "/v1/celebs/youtube/\(channel)"
      #expect(try await api.send("GET", shown).status == 401)
      let missing = try await api.send("GET", shown, as: ann)
      #expect((missing.status, missing.code) == (404, "not_found"))
      for (path, code) in [("vine/x", "unknown_platform"), ("youtube/short", "invalid_account")] {
        let refused = try await api.send("GET", "/v1/celebs/" + path, as: ann)
        #expect((refused.status, refused.code) == (422, code))
      }
      // As a search found it.
      try await api.pool.execute(
        """
        INSERT INTO channels (id, title, thumbnail, has_details, fetched_at)
        VALUES (\(channel), 'Developers', 'https://example.org/d.jpg', false, now())
        """)
      let found = try await api.send("GET", shown, as: ann)
      #expect(found.status == 200 && found.json["isMine"] as? Bool == false && found.json["since"] is NSNull)
      #expect(try await api.send("PUT", path, as: ann).json["state"] as? String == "verified")
      #expect(try await api.send("POST", path + "/hearts", as: ann).status == 201)
      try await api.pool.pipeline([
        "UPDATE celebs SET hearts = 1, hearts_at = now(), counted_to = ranking_day(now()), followers = 1",
        "DELETE FROM jobs", "SELECT make_ranking_snapshot(100, NULL, true)",
      ])
      for (platform, fan) in [("youtube", ann), ("0", ann), ("youtube", bob)] {
        let celeb = try await api.send("GET", "/v1/celebs/\(platform)/\(channel)", as: fan).json
        #expect(celeb["platform"] as? String == "youtube" && celeb["account"] as? String == channel)
        #expect(celeb["title"] as? String == "Developers" && celeb["state"] as? String == "verified")
        #expect(celeb["thumbnail"] as? String == "https://example.org/d.jpg")
        #expect(celeb["url"] as? String == "https://www.youtube.com/channel/\(channel)")
        #expect(celeb["followers"] as? Int == 1 && celeb["hearts"] as? Int == 1)
        let ranks = try #require(celeb["ranks"] as? [String: [String: Any]])
        #expect(ranks["hearts"]?["all"] as? Int == 1 && ranks["hearts"]?["day"] is NSNull)
        #expect(ranks["followers"]?["month"] is NSNull)
        #expect(celeb["isMine"] as? Bool == (fan == ann))
        #expect(celeb["count"] as? Int == (fan == ann ? 1 : nil))
        #expect((celeb["since"] is String) == (fan == ann) && (celeb["nextAt"] is String) == (fan == ann))
      }
      let history = try await api.send("GET", shown + "/history?by=hearts&window=all", as: bob)
      #expect(history.status == 200 && history.items.map { $0["rank"] as? Int } == [1])
      #expect(history.items.first?["count"] as? Int == 1 && history.items.first?["day"] is String)
      #expect(try await api.send("GET", shown + "/history?window=day", as: bob).items.isEmpty)
      #expect(try await api.send("GET", shown + "/history?by=likes", as: bob).code == "invalid_by")
      #expect(try await api.send("GET", shown + "/history").status == 401)
      #expect(try await api.send("GET", "/v1/celebs/1/nobody/history", as: bob).code == "not_found")
      let listed = try await api.send("GET", "/v1/rankings/0", as: bob).items
      #expect(listed.map { $0["thumbnail"] as? String } == ["https://example.org/d.jpg"])
    }
  }

  @Test func aFanEditsAndReplacesItsOwnAlone() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      for number in 1...3 { _ = try await api.send("PUT", "/v1/me/celebs/1/artist\(number)", as: ann) }
      let own = "/v1/me/celebs/instagram/artist3"
      let edited = try await api.send("PATCH", own, as: ann, #"{"note":"the best","position":1}"#)
      #expect(edited.status == 200 && edited.json["note"] as? String == "the best")
      #expect(edited.json["position"] as? Int == 1)
      for (body, code) in [
        (#"{"position":0}"#, "invalid_position"), (#"{"position":"1"}"#, "invalid_position"),
        (#"{"note":7}"#, "invalid_note"), ("[]", "malformed_body"),
      ] {
        let refused = try await api.send("PATCH", own, as: ann, body)
        #expect(refused.code == code, "\(body)")
      }
      let foreign = try await api.send("PATCH", own, as: bob, #"{"note":"mine"}"#)
      #expect((foreign.status, foreign.code) == (404, "celeb_not_registered"))
      let new = #"{"platform":0,"account":"\#(channel)"}"#
      let stolen = try await api.send("POST", own + "/replace", as: bob, new)
      #expect((stolen.status, stolen.code) == (404, "celeb_not_registered"))
      for (body, status, code) in [
        (#"{"platform":2,"account":"a"}"#, 422, "unknown_platform"), (#"{"account":"a"}"#, 422, "invalid_platform"),
        (#"{"platform":"youtube","account":"a"}"#, 422, "invalid_account"),
        (#"{"platform":true,"account":"a"}"#, 422, "invalid_platform"),
        (#"{"platform":"instagram","account":"artist1"}"#, 409, "celeb_registered"),
      ] {
        let refused = try await api.send("POST", own + "/replace", as: ann, body)
        #expect((refused.status, refused.code) == (status, code), "\(body)")
      }
      for _ in 0..<2 {
        let replaced = try await api.send("POST", own + "/replace", as: ann, key: "k", new)
        #expect(replaced.status == 200 && replaced.json["account"] as? String == channel)
        #expect(replaced.json["count"] as? Int == 0 && replaced.json["note"] is NSNull)
      }
      let items = try await api.send("GET", "/v1/me/celebs", as: ann).items
      #expect(items.map { $0["account"] as? String } == [channel, "artist1", "artist2"])
      #expect(items.map { $0["position"] as? Int } == [1, 2, 3])
      for (method, path) in [("PATCH", own), ("POST", own + "/replace")] {
        #expect(try await api.send(method, path, "{}").status == 401)
      }
    }
  }

  @Test func aHeartIsTakenEveryTenMinutes() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let bob = try await api.open("bob")
      for fan in [ann, bob] { #expect(try await api.send("PUT", path, as: fan).status == 200) }
      let first = try await api.send("POST", path + "/hearts", as: ann, key: "k")
      #expect(first.status == 201 && first.json["count"] as? Int == 1 && first.json["nextAt"] is String)
      // Sent again with its key, it is the same heart; without the key, it is too soon.
      #expect(try await api.send("POST", path + "/hearts", as: ann, key: "k").status == 201)
      let soon = try await api.send("POST", path + "/hearts", as: ann)
      #expect((soon.status, soon.code) == (429, "heart_too_soon"))
      let wait = try #require(soon.headers["retry-after"].flatMap { Int($0) })
      #expect((1...600).contains(wait))
      #expect(try await api.send("POST", path + "/hearts", as: bob).status == 201)
      #expect(try await api.count("SELECT count(*) FROM hearts") == 2)
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'hearts.count'") == 2)
      #expect(try await api.send("GET", "/v1/me/celebs", as: ann).items.first?["count"] as? Int == 1)
    }
  }

  @Test func heartsWithAKeyShareATransactionToo() async throws {
    try await API.run { api in
      var fans: [String] = []
      for number in 1...12 { fans.append(try await api.open("fan\(number)")) }
      for fan in fans { #expect(try await api.send("PUT", path, as: fan).status == 200) }
      // While one fan's row is locked, the hearts of the others wait behind the first batch.
      let blocker = Locked<CheckedContinuation<Void, Never>?>(nil)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await api.pool.transaction { transaction in
            _ = try await transaction.query("SELECT FROM celeb_fans FOR UPDATE")
            await withCheckedContinuation { continuation in blocker.withLock { $0 = continuation } }
          }
        }
        try await eventually("the rows are held") { blocker.withLock { $0 != nil } }
        for (number, fan) in fans.enumerated() {
          // The same request twice with one key: one heart.
          for _ in 1...2 {
            group.addTask {
              let answer = try await api.send("POST", path + "/hearts", as: fan, key: "key \(number)")
              #expect(answer.status == 201 && answer.json["count"] as? Int == 1)
            }
          }
        }
        try await eventually("a batch waits") {
          try await api.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0
        }
        blocker.withLock { $0 }?.resume()
        try await group.waitForAll()
      }
      #expect(try await api.count("SELECT count(*) FROM hearts") == 12)
      #expect(try await api.count("SELECT count(DISTINCT xmin::text) FROM hearts") < 12)
      // A refused heart frees its key.
      #expect(try await api.send("POST", path + "/hearts", as: fans[0], key: "soon").code == "heart_too_soon")
      try await api.pool.execute("UPDATE celeb_fans SET hearted_at = hearted_at - interval '10 minutes'")
      #expect(try await api.send("POST", path + "/hearts", as: fans[0], key: "soon").status == 201)
    }
  }

  @Test func aRankingHasItsSnapshotsTime() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let none = try await api.send("GET", "/v1/rankings/youtube", as: ann)
      #expect(none.status == 200 && none.items.isEmpty && none.json["computedAt"] is NSNull)
      // As the jobs would leave it.
      try await api.pool.execute(
        """
        INSERT INTO celebs (platform, account, counted_to, hearts, hearts_at, followers, followers_at)
        SELECT 'youtube', 'UC' || lpad(i::text, 22, '0'), CURRENT_DATE, i, now(), 1, now() FROM generate_series(1, 5) i
        """)
      try await api.pool.execute(
        """
        INSERT INTO channels (id, title, has_details, fetched_at)
        SELECT account, 'Channel ' || hearts, false, now() FROM celebs
        """)
      try await api.pool.execute("INSERT INTO ranking_changes SELECT id FROM celebs")
      _ = try await api.pool.transaction { try await RankingRefresh().run(in: $0) }
      let page = try await api.send("GET", "/v1/rankings/youtube?by=hearts&window=all&limit=2", as: ann)
      #expect(page.items.map { $0["rank"] as? Int } == [1, 2])
      #expect(page.items.map { $0["hearts"] as? Int } == [5, 4])
      #expect(page.items.map { $0["title"] as? String } == ["Channel 5", "Channel 4"])
      #expect(page.items.allSatisfy { $0["previousRank"] is NSNull && $0["followers"] as? Int == 1 })
      #expect(page.json["computedAt"] is String)
      let next = try #require(page.json["next"] as? Int)
      let rest = try await api.send("GET", "/v1/rankings/youtube?limit=10&before=\(next)", as: ann)
      #expect(rest.items.map { $0["rank"] as? Int } == [3, 4, 5] && rest.json["next"] is NSNull)
    }
  }
}
