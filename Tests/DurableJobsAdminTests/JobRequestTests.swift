import DurableJobs
import Foundation
import SocialAdmin
import Testing

@testable import DurableJobsAdmin

@Suite("What an operator asks for")
struct JobRequestTests {
  private static let payload = Array(#"{"post":1,"author":2}"#.utf8)

  @Test("A request becomes a durable record of the newest version")
  func record() throws {
    let record = try JobKinds.app.record(
      JobRequest(
        kind: "posts.fan-out", payload: Self.payload, queue: "elsewhere", priority: .low,
        runAt: Date(timeIntervalSince1970: 1_900_000_000.5), uniqueKey: "one"))
    #expect(record.kind == "posts.fan-out" && record.queue == "elsewhere" && record.priority == .low)
    #expect(
      record.isDurable && record.runAt == Date(timeIntervalSince1970: 1_900_000_000.5) && record.uniqueKey == "one")
    #expect(try JobKinds.app.record(JobRequest(kind: "posts.fan-out", payload: Self.payload)).queue == "fanout")
  }

  @Test(
    "The nearest kind is named",
    arguments: [("posts.fanout", "posts.fan-out"), ("feed.backfil", "feed.backfill"), ("purge", "posts.purge")])
  func nearest(asked: String, meant: String) {
    let error = #expect(throws: OperationError.self) {
      try JobKinds.app.record(JobRequest(kind: asked, payload: Self.payload))
    }
    #expect(error?.code == .usage)
    #expect(error?.message.contains("nearest is '\(meant)'") == true)
  }

  @Test("Queues and keys that cannot be are refused", arguments: ["", "a b", String(repeating: "q", count: 65)])
  func names(name: String) {
    let inQueue = #expect(throws: OperationError.self) {
      try JobKinds.app.record(JobRequest(kind: "posts.fan-out", payload: Self.payload, queue: name))
    }
    #expect(inQueue?.code == .usage)
  }

  @Test("A key has 1 to 200 bytes and no NUL", arguments: ["", "a\0b", String(repeating: "ä", count: 101)])
  func keys(key: String) {
    let error = #expect(throws: OperationError.self) {
      try JobKinds.app.record(JobRequest(kind: "posts.fan-out", payload: Self.payload, uniqueKey: key))
    }
    #expect(error?.code == .usage)
  }

  @Test(
    "The edit distance counts letters put in, taken out and changed",
    arguments: [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("same", "same", 0)])
  func distance(one: String, other: String, expected: Int) {
    #expect(EditDistance.between(one, other) == expected)
    #expect(EditDistance.between(other, one) == expected)
  }
}
