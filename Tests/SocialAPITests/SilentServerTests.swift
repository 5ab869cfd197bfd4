import DurableJobs
import DurableJobsAdmin
import Foundation
import LibPQClient
import LocalStack
import PrivateServers
import TestSupport
import Testing

@testable import SocialAPI

/// The responses to clients while a server has stopped answering.
@Suite(.timeLimit(.minutes(3))) struct SilentServerTests {
  /// Runs `body` while Postgres is frozen.
  private func whileFrozen(_ server: PrivatePostgres, _ body: () async throws -> Void) async throws {
    await server.freeze()
    do {
      try await body()
    } catch {
      await server.thaw()
      throw error
    }
    await server.thaw()
  }

  @Test func withoutPostgresEachRequestIsAnsweredInTimeAndStreamsGoOn() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await API.run(requestTimeout: .milliseconds(500), postgres: server) { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let stream = try await EventSource(port: api.http.port, token: ann)
      try await whileFrozen(server) {
        let begun = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<20 {
            group.addTask {
              let reply =
                number.isMultiple(of: 2)
                ? try await api.send("GET", "/v1/feed/following", as: ann)
                : try await api.send("POST", "/v1/posts", as: ann, #"{"title":"one"}"#)
              #expect((reply.status, reply.code) == (503, "unavailable"))
              #expect(reply.headers["retry-after"] != nil)
            }
          }
          try await group.waitForAll()
        }
        #expect(.now - begun < .seconds(20), "statements alone may take a minute")
      }
      let back = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask {
            try await eventually("the feed is there") {
              try await api.send("GET", "/v1/feed/following", as: ann).status == 200
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(.now - back < .seconds(5), "the pool is whole within a second")
      _ = try await api.send("POST", "/v1/conversations/ann/messages", as: bob, #"{"text":"hello"}"#)
      #expect(try await stream.next()?.fields()["text"] as? String == "hello")
    }
    await server.stop()
  }

  /// The requests continue when the server does, long after their clients have gone.
  @Test func streamsThatAreBrokenOffWhileTheyAreAskedForHoldNoPlace() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await API.run(postgres: server) { api in
      let ann = try await api.open("ann")
      try await whileFrozen(server) {
        for number in 0..<60 {
          let client = try RawConnection(port: api.http.port)
          try client.send("GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(ann)\r\n\r\n")
          // Closed at the end of the turn: in order, or in a way that not even the head of a response can be written.
          if number.isMultiple(of: 2) { client.resetOnClose() }
        }
        try await eventually { await api.pool.usage().waiting > 0 }
      }
      try await eventually {
        let usage = await api.pool.usage()
        return usage.waiting == 0 && usage.leased == 0
      }
      try await eventually { api.events.count == 0 }
      var open: [EventSource] = []
      for _ in 0..<EventStreams.perAccount { open.append(try await EventSource(port: api.http.port, token: ann)) }
      #expect(api.events.count == EventStreams.perAccount)
    }
    await server.stop()
  }

  /// A client that half-closes its connection still reads; a client of an event stream is gone.
  @Test func aStreamEndsWhenItsClientSendsNothingMore() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let client = try RawConnection(port: api.http.port)
      try client.send("GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(ann)\r\n\r\n")
      try await eventually { api.events.count == 1 }
      client.finish()
      try await eventually { api.events.count == 0 }
      let reader = try RawConnection(port: api.http.port)
      try reader.send("GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(ann)\r\n\r\n")
      reader.finish()
      #expect(await reader.rest().hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test func withoutRedisNoAnswerWaitsAndEachJobRunsLater() async throws {
    let redis = try await PrivateRedis.start()
    try await API.run(redis: redis, usesPusher: true) { api in
      let ann = try await api.open("ann")
      await redis.freeze()
      let begun = ContinuousClock.now
      for number in 0..<10 { _ = try await api.post("\(number)", as: ann) }
      let elapsed = ContinuousClock.now - begun
      await redis.thaw()
      #expect(elapsed < .seconds(3), "one push alone would have been waited for that long")
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'posts.fan-out'") == 10)
      try await api.drain("fanout")
    }
    await redis.stop()
  }
}
