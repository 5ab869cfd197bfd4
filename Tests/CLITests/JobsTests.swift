import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import ProgramTestSupport
import Testing

@Suite("fanmill jobs, queues, dead", .timeLimit(.minutes(5)))
struct JobsTests {
  private struct List<Item: Decodable>: Decodable { let items: [Item] }
  private struct Job: Decodable {
    let id: String
    let kind: String
    let queue: String
    let state: String
    let attempts: Int
    let priority: String
    let runAt: Date?
    let uniqueKey: String?
    let error: String?
  }
  private struct Detail: Decodable {
    let job: Job
    let payload: String
    let isInBroker: Bool?
  }
  private struct Enqueued: Decodable { let id: String }

  private static let payload = #"{"post":1,"author":2}"#

  @Test("An unknown kind is refused with the nearest one, before any server is asked")
  func unknownKind() async throws {
    let outcome = try await CLI(nowhere)("jobs", "enqueue", "posts.fanout", "--payload", "{}", status: 64)
    #expect(outcome.errors.contains("'posts.fanout'"))
    #expect(outcome.errors.contains("nearest is 'posts.fan-out'"))
    #expect(outcome.errors.contains("feed.partitions"))
  }

  @Test(
    "A payload that does not decode is refused with the field that is wrong",
    arguments: [
      (#"{"post":"one","author":2}"#, "field 'post' is not an integer"), (#"{"post":1}"#, "field 'author' is missing"),
      (#"{"post":1,"autor":2}"#, "field 'autor' is unknown; the nearest is 'author'"),
      ("{", "not valid JSON"),
    ])
  func badPayload(payload: String, problem: String) async throws {
    let outcome = try await CLI(nowhere)("jobs", "enqueue", "posts.fan-out", "--payload", payload, status: 65)
    #expect(outcome.errors.contains(problem))
    _ = try await withFile(payload) { file in
      try await CLI(nowhere)("jobs", "enqueue", "posts.fan-out", "--payload", "@\(file)", status: 65)
    }
  }

  @Test("A payload that is not text in UTF-8 is refused, from a file and as an argument")
  func noText() async throws {
    let path = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    try Data(Array(Self.payload.utf8) + [0xFF]).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    let file = try await CLI(nowhere)("jobs", "enqueue", "posts.fan-out", "--payload", "@\(path)", status: 65)
    #expect(file.errors.contains("the payload of posts.fan-out is not UTF-8 text: byte 21"))
    // A Swift string cannot hold such an argument, so a shell passes it.
    let command = #"exec "$0" jobs enqueue posts.fan-out --payload "$(printf '{"post":1,"author":2}\377')""#
    let shell = try await BuiltProgram(path: "/bin/sh").run(
      ["-c", command, BuiltProgram("fanmill").path], environment: nowhere)
    #expect(shell.status == 65)
    #expect(shell.errors.contains("the payload is not text in UTF-8"))
  }

  @Test("A payload over the limit that is set ends with 65, by name and size")
  func payloadLimit() async throws {
    let path = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    try Data(Array(Self.payload.utf8) + Array(repeating: 0x20, count: 2000)).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    let limited = nowhere.merging(["FANMILL_JOBS_PAYLOAD_LIMIT": "1024"]) { $1 }
    let refused = try await CLI(limited)("jobs", "enqueue", "posts.fan-out", "--payload", "@\(path)", status: 65)
    #expect(
      refused.errors.contains("the payload of posts.fan-out has 2021 bytes, which is over the limit of 1024: "))
  }

  @Test("A payload's file that is not there ends with 66")
  func noFile() async throws {
    try await CLI(nowhere)("jobs", "enqueue", "posts.fan-out", "--payload", "@/nowhere/at-all", status: 66)
  }

  @Test("Kinds are listed without any server")
  func kinds() async throws {
    struct Kind: Decodable {
      let kind: String
      let queue: String
      let version: Int
      let maxAttempts: Int
    }
    let kinds = try await CLI()("jobs", "kinds", "--json").json(List<Kind>.self).items
    #expect(kinds.contains { $0.kind == "posts.fan-out" && $0.queue == "fanout" && $0.version == 1 })
  }

  @Test("A job is enqueued, listed, shown and promoted")
  func life() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      #expect(try await cli("jobs", "list", "--json").output == "{\"items\":[]}\n")
      let id = try await cli(
        "jobs", "enqueue", "posts.fan-out", "--payload", Self.payload, "--in", "2h", "--priority", "high",
        "--unique-key", "one", "--json"
      ).json(Enqueued.self).id

      let refused = try await cli(
        "jobs", "enqueue", "posts.fan-out", "--payload", Self.payload, "--unique-key", "one", status: 1)
      #expect(refused.errors.contains("unique key 'one'"))

      let job = try #require(
        try await cli("jobs", "list", "--state", "delayed", "--json").json(List<Job>.self).items.first)
      #expect(job.id == id && job.queue == "fanout" && job.priority == "high" && job.uniqueKey == "one")
      #expect(try #require(job.runAt) > Date(timeIntervalSinceNow: 6000))
      #expect(try await cli("jobs", "list", "--kind", "feed.backfill", "--json").json(List<Job>.self).items.isEmpty)
      #expect(try await cli("jobs", "list").output.contains(id))

      let detail = try await cli("jobs", "show", id, "--json").json(Detail.self)
      #expect(detail.payload == Self.payload && detail.isInBroker == true)

      #expect(try await stack.broker.depth(of: "fanout").delayed == 1)
      #expect(try await cli("jobs", "retry", id, "--json").json(Job.self).state == "waiting")
      #expect(try await stack.broker.depth(of: "fanout").ready == 1)
      let twice = try await cli("jobs", "retry", id, status: 1)
      #expect(twice.errors.contains("is already ready or running"))
      try await cli("jobs", "show", JobID.next().description, status: 1)
    }
  }

  @Test("A job that the broker has forgotten is pushed by a retry")
  func forgotten() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      let id = try await cli("jobs", "enqueue", "posts.fan-out", "--payload", Self.payload, "--json").json(
        Enqueued.self
      ).id
      _ = try await stack.redisClient.send(RedisCommand("FLUSHALL"))
      #expect(try await cli("jobs", "show", id, "--json").json(Detail.self).isInBroker == false)
      try await cli("jobs", "retry", id)
      #expect(try await stack.broker.depth(of: "fanout").ready == 1)
    }
  }

  @Test("Queues are listed with what broker and ledger know")
  func queues() async throws {
    struct Queue: Decodable, Equatable {
      let queue: String
      var ready = 0
      var delayed = 0
      var claimed = 0
      var workers = 0
      var owed = 0
      var parked = 0
    }
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await cli("jobs", "enqueue", "posts.fan-out", "--payload", Self.payload)
      try await cli("jobs", "enqueue", "posts.fan-out", "--payload", Self.payload, "--in", "1d")
      let elsewhere = try await cli(
        "jobs", "enqueue", "posts.fan-out", "--payload", Self.payload, "--queue", "elsewhere")
      #expect(elsewhere.errors.contains("no kind of job uses the queue 'elsewhere'"))
      try await stack.pool.execute("UPDATE jobs SET parked = true WHERE queue = 'elsewhere'")
      let queues = try await cli("queues", "list", "--json").json(List<Queue>.self).items
      #expect(queues.contains(Queue(queue: "fanout", ready: 1, delayed: 1, owed: 2)))
      #expect(queues.contains(Queue(queue: "elsewhere", ready: 1, owed: 1, parked: 1)))
      #expect(queues.contains(Queue(queue: "default")))
    }
  }

  @Test("Dead letters are listed, shown and retried")
  func dead() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      let ids = (0..<3).map { _ in JobID.next() }
      for (index, id) in ids.enumerated() {
        let record = JobRecord(
          id: id, kind: "posts.fan-out", queue: "fanout", payload: Array(Self.payload.utf8), isDurable: true,
          uniqueKey: index == 2 ? "taken" : nil)
        _ = try await stack.client.transaction { try await $0.add([record]) }
        try await stack.ledger.deadLetter([
          DeadJob(
            record: record, attempts: 20,
            failure: JobFailure(attempt: 20, at: .init(unixMilliseconds: 0), error: "it broke", worker: "w"))
        ])
      }
      let listed = try await cli("dead", "list", "--json").json(List<Job>.self).items
      #expect(Set(listed.map(\.id)) == Set(ids.map(\.description)))
      #expect(listed.allSatisfy { $0.state == "dead" && $0.error == "it broke" && $0.attempts == 20 })
      #expect(try await cli("dead", "show", ids[0].description).output.contains("it broke"))

      try await cli("dead", "retry", ids[0].description)
      #expect(try await cli("jobs", "show", ids[0].description, "--json").json(Detail.self).job.state == "waiting")
      try await cli("dead", "retry", ids[0].description, status: 1)
      try await cli("dead", "retry", JobID.next().description, status: 1)

      // A job whose unique key is pending again stays dead and is reported.
      try await cli("jobs", "enqueue", "posts.fan-out", "--payload", Self.payload, "--unique-key", "taken")
      let all = try await cli("dead", "retry", "--all", "--json", status: 1)
      #expect(try all.json(List<String>.self).items == [ids[1].description])
      #expect(try await cli("dead", "list", "--json").json(List<Job>.self).items.map(\.id) == [ids[2].description])
      try await stack.pool.execute("DELETE FROM jobs WHERE unique_key = 'taken'")
      try await cli("dead", "retry", "--all")
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 0)
      #expect(try await stack.count("SELECT count(*) FROM jobs WHERE attempts = 0 AND failures IS NOT NULL") == 3)
    }
  }
}
