import LibPQClient
import Testing

@Suite struct JobRouteTests {
  @Test func anOperatorAsksForAJob() async throws {
    try await API.run { api in
      let reply = try await api.send(
        "POST", "/v1/jobs/posts.fan-out", as: adminToken,
        #"{"payload":{"post":1,"author":2},"runAt":"2100-01-01T00:00:00Z","priority":"high"}"#)
      #expect(reply.status == 202)
      let id = try #require(reply.json["id"] as? String)
      #expect(try await api.send("GET", "/v1/jobs/\(id)", as: adminToken).status == 200)
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE priority = 0 AND run_at > now()") == 1)
    }
  }

  @Test func theReadOnlyTokenShowsAJobAndEnqueuesNone() async throws {
    try await API.run { api in
      let body = #"{"payload":{"post":1,"author":2},"runAt":"2100-01-01T00:00:00Z"}"#
      let refused = try await api.send("POST", "/v1/jobs/posts.fan-out", as: adminReadToken, body)
      #expect((refused.status, refused.code) == (403, "read_only"))
      #expect(try await api.count("SELECT count(*) FROM jobs") == 0)
      let reply = try await api.send("POST", "/v1/jobs/posts.fan-out", as: adminToken, body)
      let id = try #require(reply.json["id"] as? String)
      #expect(try await api.send("GET", "/v1/jobs/\(id)", as: adminReadToken).status == 200)
      #expect(try await api.send("GET", "/v1/jobs/\(id)").status == 401)
      // It is not an account's session.
      #expect(try await api.send("GET", "/v1/me", as: adminReadToken).status == 401)
    }
  }

  @Test func itIsForOperatorsAndChecked() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let body = #"{"payload":{"post":1,"author":2}}"#
      let user = try await api.send("POST", "/v1/jobs/posts.fan-out", as: ann, body)
      #expect((user.status, user.code) == (403, "admin_only"))
      #expect(try await api.send("POST", "/v1/jobs/posts.fan-out", body).status == 401)
      #expect(try await api.send("GET", "/v1/jobs/1", as: ann).status == 403)
      let kind = try await api.send("POST", "/v1/jobs/posts.fanout", as: adminToken, body)
      #expect((kind.status, kind.code) == (422, "unknown_kind"))
      #expect((kind.json["detail"] as? String)?.contains("posts.fan-out") == true)
      let payload = try await api.send("POST", "/v1/jobs/posts.fan-out", as: adminToken, #"{"payload":{"post":"x"}}"#)
      #expect((payload.status, payload.code) == (422, "invalid_payload"))
      #expect((payload.json["detail"] as? String)?.contains("post") == true)
      let date = try await api.send(
        "POST", "/v1/jobs/posts.fan-out", as: adminToken, #"{"payload":{"post":1,"author":2},"runAt":"soon"}"#)
      #expect((date.status, date.code) == (422, "invalid_runAt"))
      #expect(try await api.count("SELECT count(*) FROM jobs") == 0)
    }
  }
}
