import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Social
import Testing

@Suite(.timeLimit(.minutes(5))) struct LookupRouteTests {
  private static let key = YouTubeKey("a key")
  private static let search = "/v1/celebs/search?platform=youtube&q="

  /// Ends a lookup with one channel, as a worker would.
  private func answer(_ lookup: String, in api: API) async throws {
    try await api.pool.pipeline([
      """
      INSERT INTO channels (id, title, handle, thumbnail, published_at, subscribers, has_details, fetched_at)
      VALUES ('UC1', 'A & B', '@ab', NULL, NULL, 5, true, now())
      """,
      """
      INSERT INTO channel_answers (question, channels, fetched_at)
      SELECT question, ARRAY['UC1'], now() FROM lookups WHERE id = \(lookup)::uuid
      """,
      "UPDATE lookups SET state = 'done', ended_at = now() WHERE id = \(lookup)::uuid",
      "DELETE FROM jobs",
    ])
  }

  @Test func aQuestionBecomesALookupThenAnAnswer() async throws {
    try await API.run(lookups: LookupRules(keys: [Self.key])) { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let begun = try await api.send("GET", Self.search + "Some%20Body", as: ann)
      #expect(begun.status == 202)
      let lookup = try #require(begun.json["lookup"] as? String)
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'lookups.text' AND queue = 'lookups'") == 1)
      let waiting = try await api.send("GET", "/v1/lookups/\(lookup)", as: ann)
      #expect((waiting.status, waiting.json["state"] as? String) == (200, "waiting"))
      #expect(waiting.items.isEmpty)
      #expect(waiting.json["retryAt"] == nil)
      // Another user with the same query shares it, and sees only the result.
      let shared = try await api.send("GET", Self.search + "some+%20body", as: bob)
      #expect(shared.json["lookup"] as? String == lookup)
      try await answer(lookup, in: api)
      for user in [ann, bob] {
        let done = try await api.send("GET", "/v1/lookups/\(lookup)", as: user)
        #expect(done.json["state"] as? String == "done")
        #expect(done.items.map { $0["title"] as? String } == ["A & B"])
        #expect(Set(done.json.keys) == ["id", "state", "items"])
        let found = try await api.send("GET", Self.search + "SOME%20BODY", as: user)
        #expect(found.status == 200)
        let item = try #require(found.items.first)
        #expect(item["account"] as? String == "UC1" && item["id"] as? String == "UC1")
        #expect(item["handle"] as? String == "@ab" && item["thumbnail"] is NSNull)
        #expect(item["url"] as? String == "https://www.youtube.com/channel/UC1")
      }
    }
  }

  @Test func whatIsKnownAnswersFirstAndASearchIsMadeForMore() async throws {
    try await API.run(lookups: LookupRules(keys: [Self.key])) { api in
      let ann = try await api.open("ann")
      try await api.pool.execute(
        """
        INSERT INTO channels (id, title, handle, subscribers, has_details, fetched_at) VALUES
          ('UC1', 'Art for all', '@artforall', 5, true, now()), ('UC2', 'ART', '@a', 1, true, now()),
          ('UC3', 'The art of nothing', NULL, NULL, false, now()), ('UC4', '한국 미술', '@misul', 9, true, now()),
          ('UC5', 'Modern art', '@old', 99, true, now() - interval '31 days')
        """)
      for (words, found) in [
        ("art", ["UC2", "UC1", "UC3"]), ("ART+for", ["UC1"]), ("artfora", ["UC1"]), ("%EB%AF%B8%EC%88%A0", ["UC4"]),
        ("%E3%85%81%E3%85%85", ["UC4"]),
      ] {
        let known = try await api.send("GET", Self.search + words, as: ann)
        #expect(known.status == 200 && known.json["more"] as? Bool == true, "\(words)")
        #expect(known.items.map { $0["id"] as? String } == found, "\(words)")
      }
      #expect(try await api.count("SELECT count(*) FROM lookups") == 0)
      let lookup = try #require(
        try await api.send("GET", Self.search + "art&more=true", as: ann).json["lookup"] as? String)
      try await api.pool.pipeline([
        "INSERT INTO channel_answers (question, channels, fetched_at) VALUES ('text:art', ARRAY['UC2'], now())",
        "UPDATE lookups SET state = 'done', ended_at = now() WHERE id = \(lookup)::uuid", "DELETE FROM jobs",
      ])
      // While it is fresh, YouTube's own result is complete.
      let found = try await api.send("GET", Self.search + "art", as: ann)
      #expect(found.json["more"] as? Bool == false && found.items.map { $0["id"] as? String } == ["UC2"])
      // Nothing is stored for it, so a search starts.
      #expect(try await api.send("GET", Self.search + "nothing+like+it", as: ann).status == 202)
      let bad = try await api.send("GET", Self.search + "art&more=yes", as: ann)
      #expect((bad.status, bad.code) == (422, "invalid_more"))
      let numbered = try await api.send("GET", "/v1/celebs/search?platform=0&q=art", as: ann)
      #expect(numbered.status == 200)
    }
  }

  @Test func aParkedLookupSaysWhenItGoesOnAndAFailedOneWhy() async throws {
    try await API.run(lookups: LookupRules(keys: [Self.key])) { api in
      let ann = try await api.open("ann")
      let lookup = try #require(
        try await api.send("GET", Self.search + "@name", as: ann).json["lookup"] as? String)
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'lookups.channels'") == 1)
      try await api.pool.execute("UPDATE lookups SET state = 'parked', retry_at = '2030-01-02T08:00:00Z'")
      let parked = try await api.send("GET", "/v1/lookups/\(lookup)", as: ann)
      #expect(parked.json["state"] as? String == "parked")
      #expect(parked.json["retryAt"] as? String == "2030-01-02T08:00:00.000Z")
      try await api.pool.execute(
        "UPDATE lookups SET state = 'failed', retry_at = NULL, reason = 'gone', message = 'why', ended_at = now()")
      let failed = try await api.send("GET", "/v1/lookups/\(lookup)", as: ann)
      #expect(failed.json["state"] as? String == "failed")
      #expect(failed.json["reason"] as? String == "gone" && failed.json["message"] as? String == "why")
    }
  }

  @Test func aSpentBudgetIsSaidOnlyWhereNothingIsKept() async throws {
    try await API.run(lookups: LookupRules(keys: [Self.key])) { api in
      let ann = try await api.open("ann")
      let lookup = try #require(try await api.send("GET", Self.search + "kept", as: ann).json["lookup"] as? String)
      try await answer(lookup, in: api)
      try await api.pool.execute("UPDATE channel_answers SET fetched_at = now() - interval '20 days'")
      let day = PacificDay(containing: Date())
      try await api.pool.execute(
        """
        INSERT INTO youtube_quota (key, day, budget, spent)
        VALUES (\(Self.key.label), \(day.description)::date, 'searches', 100)
        """)
      let kept = try await api.send("GET", Self.search + "kept", as: ann)
      #expect(kept.status == 200 && kept.items.count == 1)
      let other = try await api.send("GET", Self.search + "other", as: ann)
      #expect((other.status, other.code) == (503, "quota_exhausted"))
      #expect(try await api.count("SELECT count(*) FROM jobs") == 0)
      // Ids and handles are paid from another budget.
      #expect(try await api.send("GET", Self.search + "@other", as: ann).status == 202)
    }
  }

  @Test func anAccountThatUsedItsShareIsRefusedAndOthersAreNot() async throws {
    try await API.run(lookups: LookupRules(keys: [Self.key])) { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      for number in 0..<10 {
        #expect(try await api.send("GET", Self.search + "words\(number)", as: ann).status == 202)
      }
      let refused = try await api.send("GET", Self.search + "more", as: ann)
      #expect((refused.status, refused.code) == (429, "lookup_share_spent"))
      let wait = try #require(refused.headers["retry-after"].flatMap { Int($0) })
      #expect((1...25 * 3600).contains(wait))
      #expect(try await api.send("GET", Self.search + "more", as: bob).status == 202)
      // Bob's query is shared, and costs ann nothing; a handle is paid from another budget.
      #expect(try await api.send("GET", Self.search + "more", as: ann).status == 202)
      #expect(try await api.send("GET", Self.search + "@other", as: ann).status == 202)
    }
  }

  @Test func questionsAreCheckedAndSignedInUsersOnlyAsk() async throws {
    try await API.run(lookups: LookupRules(keys: [Self.key])) { api in
      let ann = try await api.open("ann")
      for bad in ["", "%20%09", "+", "%FF", String(repeating: "a", count: 201), "https%3A%2F%2Fexample.org%2Fx"] {
        let reply = try await api.send("GET", Self.search + bad, as: ann)
        #expect((reply.status, reply.code) == (422, "invalid_q"))
      }
      let none = try await api.send("GET", "/v1/celebs/search?platform=youtube", as: ann)
      #expect((none.status, none.code) == (422, "invalid_q"))
      for (platform, code) in [
        ("instagram", "search_unsupported"), ("myspace", "unknown_platform"), ("", "unknown_platform"),
      ] {
        let reply = try await api.send("GET", "/v1/celebs/search?platform=\(platform)&q=a", as: ann)
        #expect((reply.status, reply.code) == (422, code))
      }
      for unknown in ["1", "00000000-0000-0000-0000-000000000000"] {
        let reply = try await api.send("GET", "/v1/lookups/\(unknown)", as: ann)
        #expect((reply.status, reply.code) == (404, "not_found"))
      }
      #expect(try await api.send("GET", Self.search + "a").status == 401)
      #expect(try await api.send("GET", "/v1/lookups/1").status == 401)
      #expect(try await api.count("SELECT count(*) FROM lookups") == 0)
    }
  }

  @Test func withoutAKeyNothingIsAskedOfYouTube() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let reply = try await api.send("GET", Self.search + "a", as: ann)
      #expect((reply.status, reply.code) == (503, "lookups_unavailable"))
      #expect(try await api.count("SELECT count(*) FROM lookups") == 0)
    }
  }
}
