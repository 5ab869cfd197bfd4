import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import DurableJobsTesting
import Foundation
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

@Suite("What operators do to jobs, queues and workers", .timeLimit(.minutes(5)))
struct OperatorTests {
  private struct List<Item: Decodable>: Decodable {
    let items: [Item]
    let next: String?
  }
  private struct Job: Decodable {
    let id: String
    let kind: String
    let state: String
    let runAt: Date?
  }
  private struct Detail: Decodable {
    struct Event: Decodable { let what: String }
    let job: Job
    let timeline: [Event]
  }
  private struct Queue: Decodable {
    let queue: String
    let isPaused: Bool
  }

  private struct Worker: Decodable {
    let name: String
    let state: String
  }
  private struct Statistics: Decodable {
    struct Totals: Decodable { let completed: Int }
    let totals: Totals
  }

  private static let payload = #"{"post":1,"author":2}"#

  private func enqueue(_ cli: CLI, _ more: String...) async throws -> String {
    let outcome = try await BuiltProgram("fanmill").run(
      ["jobs", "enqueue", "posts.fan-out", "--payload", Self.payload] + more, environment: cli.settings)
    return outcome.output.trimmingCharacters(in: .newlines)
  }

  /// Makes dead letters of a kind.
  private func deadLetter(_ count: Int, kind: JobKind = "posts.fan-out", in stack: TestStack) async throws -> [String] {
    var ids: [String] = []
    for _ in 0..<count {
      let record = JobRecord(kind: kind, queue: "fanout", payload: Array(Self.payload.utf8), isDurable: true)
      _ = try await stack.client.transaction { try await $0.add([record]) }
      try await stack.ledger.deadLetter([
        DeadJob(
          record: record, attempts: 3,
          failure: JobFailure(attempt: 3, at: .init(unixMilliseconds: 0), error: "it broke", worker: "w"))
      ])
      ids.append(record.id.description)
    }
    return ids
  }

  @Test("A job is rescheduled, cancelled and found among the cancelled, and each step is in its timeline")
  func cancel() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      let id = try await enqueue(cli, "--in", "1h")
      let moved = try await cli("jobs", "reschedule", id, "--at", "2040-01-31T12:00:00Z", "--json").json(Job.self)
      #expect(moved.state == "delayed" && moved.runAt == Date(timeIntervalSince1970: 2_211_624_000))
      #expect(try await cli("jobs", "cancel", id, "--yes").output == "\(id) is cancelled\n")
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await stack.broker.depth(of: "fanout").delayed == 0)
      let detail = try await cli("jobs", "show", id, "--json").json(Detail.self)
      #expect(detail.job.state == "cancelled")
      #expect(Set(["jobs.enqueue", "jobs.reschedule", "jobs.cancel"]).isSubset(of: detail.timeline.map(\.what)))
      let listed = try await cli("jobs", "list", "--state", "cancelled", "--json").json(List<Job>.self).items
      #expect(listed.map(\.id) == [id])
      for verb in ["cancel", "delete"] { try await cli("jobs", verb, id, "--yes", status: 1) }
      try await cli("jobs", "reschedule", id, "--in", "1h", status: 1)
      try await cli("jobs", "cancel", JobID.next().description, "-y", status: 1)
    }
  }

  @Test("Lists go on where a page ends, and filter by kind, queue, text and time")
  func pages() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      var ids: [String] = []
      for number in 0..<5 { ids.append(try await enqueue(cli, "--unique-key", "\(number)")) }
      let first = try await cli("jobs", "list", "--limit", "3", "--json").json(List<Job>.self)
      let rest = try await cli("jobs", "list", "--before", try #require(first.next), "--json").json(List<Job>.self)
      #expect((first.items + rest.items).map(\.id) == ids.reversed() && rest.next == nil)
      #expect(try await cli("jobs", "list", "--limit", "3").output.contains("more: --before"))
      func count(_ arguments: String...) async throws -> Int {
        try await BuiltProgram("fanmill").run(["jobs", "list", "--json"] + arguments, environment: cli.settings)
          .json(List<Job>.self).items.count
      }
      #expect(try await count("--text", #""author":2"#, "--queue", "fanout") == 5)
      #expect(try await count("--text", #""author":3"#) == 0)
      #expect(try await count("--since", "1h") == 5)
      #expect(try await count("--until", "1h") == 0)
      #expect(try await cli("jobs", "list", "--kind", "posts.fanout").output.contains("did you mean 'posts.fan-out'?"))
    }
  }

  @Test("Dead letters are deleted: one, those of a kind, all")
  func deadLetters() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      let ids = try await deadLetter(3, in: stack)
      _ = try await deadLetter(2, kind: "posts.purge", in: stack)
      try await cli("dead", "delete", ids[0], "--yes")
      try await cli("jobs", "delete", ids[1], "--yes")
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 3)
      let counted = try await cli("dead", "delete", "--error", "broke", "--since", "1h", "--dry-run").output
      #expect(counted == "3 dead letters: posts.fan-out 1, posts.purge 2\n")
      #expect(try await cli("dead", "retry", "--queue", "nowhere", "--dry-run").output == "0 dead letters\n")
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 3)
      try await cli("dead", "edit", ids[2], "--payload", "{}", status: 65)
      let edited = try await cli("dead", "edit", ids[2], "--payload", #"{"post":9,"author":2}"#).output
      #expect(edited.hasSuffix(" is pending in place of \(ids[2])\n"))
      #expect(try await cli("jobs", "show", ids[2]).output.contains("replaced"))
      _ = try await deadLetter(1, in: stack)
      let kind = try await cli("dead", "delete", "--kind", "posts.purge", "--yes", "--json").json(List<String>.self)
      #expect(kind.items.count == 2)
      #expect(try await cli("dead", "delete", "--all", "-y").output == "1 deleted\n")
      #expect(try await cli("dead", "list").output == "there are no dead letters\n")
      #expect(try await stack.count("SELECT count(*) FROM ended_jobs WHERE state = 'deleted'") == 5)
      try await cli("dead", "delete", ids[0], "-y", status: 1)
    }
  }

  @Test("Pending jobs are cancelled: one, those that a filter finds, all")
  func cancelled() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      var ids: [String] = []
      for _ in 0..<4 { ids.append(try await enqueue(cli)) }
      #expect(try await cli("jobs", "cancel", ids[0], "--yes").output == "\(ids[0]) is cancelled\n")
      let counted = try await cli("jobs", "cancel", "--text", "author", "--dry-run").output
      #expect(counted == "3 pending jobs: posts.fan-out 3\n")
      #expect(try await cli("jobs", "cancel", "--state", "retrying", "--yes").output == "0 cancelled\n")
      #expect(try await cli("jobs", "cancel", "--kind", "posts.purge", "--yes").output == "0 cancelled\n")
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 3)
      let all = try await cli("jobs", "cancel", "--queue", "fanout", "--rate", "1000", "--yes", "--json").fields()
      #expect(all["cancelled"] as? Int == 3 && all["ordered"] as? Int == 0)
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await stack.count("SELECT count(*) FROM actions WHERE action = 'jobs.cancel-all'") == 1)
      for arguments in [
        [], [ids[0], "--all"], ["--state", "dead"], ["--all", "--rate", "0"], [ids[0], "--dry-run"],
      ] {
        let outcome = try await BuiltProgram("fanmill").run(
          ["jobs", "cancel", "--yes"] + arguments, environment: cli.settings)
        #expect(outcome.status == 64, "\(arguments)")
      }
    }
  }

  @Test("A queue is paused, shown, cleared, resumed and waited for; one that nobody knows is not")
  func queues() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      for _ in 0..<3 { _ = try await enqueue(cli) }
      #expect(try await cli("queues", "pause", "fanout", "--json").json(Queue.self).isPaused)
      #expect(try await cli("queues", "list").output.contains("paused"))
      #expect(try await cli("queues", "show", "fanout").output.contains("paused since"))
      try await cli("queues", "drain", "fanout", "--timeout", "1s", status: 1)
      #expect(try await cli("queues", "clear", "fanout", "--yes").output == "3 cancelled\n")
      #expect(try await !cli("queues", "resume", "fanout", "--json").json(Queue.self).isPaused)
      #expect(try await cli("queues", "drain", "fanout").output == "fanout is empty\n")
      _ = try await enqueue(cli)
      let late = try await cli("queues", "drain", "fanout", "--timeout", "0", status: 1)
      #expect(late.errors.contains("not empty"))
      for verb in ["show", "pause", "resume", "drain"] {
        #expect(try await cli("queues", verb, "fan-out", status: 1).errors.contains("nearest is 'fanout'"))
      }
    }
  }

  @Test("A worker is listed, does a job that is waited for, is counted, made quiet and stopped")
  func workers() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      #expect(try await cli("workers", "list").output == "no worker is running\n")
      let worker = try BuiltProgram("fanmill-worker").start(
        environment: stack.settings.merging(["FANMILL_WORKER_PORT": "0", "FANMILL_SCHEDULER": "off"]) { $1 })
      func list() async throws -> [Worker] {
        try await cli("workers", "list", "--json").json(List<Worker>.self).items
      }
      try await eventually("it is listed") { try await list().map(\.state) == ["running"] }
      let name = try #require(try await list().first).name
      let done = try await cli("jobs", "enqueue", "feed.partitions", "--payload", "{}", "--wait")
      #expect(done.output.hasSuffix("is done\n"))
      try await eventually("it is counted") {
        try await cli("stats", "--json", "--kind", "feed.partitions").json(Statistics.self).totals.completed == 1
      }
      #expect(try await cli("stats").output.contains("feed.partitions"))

      #expect(try await cli("workers", "quiet", name, "--json").json(List<String>.self).items == [name])
      try await eventually("it is quiet") { try await list().map(\.state) == ["quiet"] }
      _ = try await enqueue(cli)
      try await cli("jobs", "enqueue", "feed.partitions", "--payload", "{}", "--wait", "--timeout", "0", status: 1)
      try await cli("workers", "stop", "nobody", "--yes", status: 1)
      try await cli("workers", "stop", "--all", "--yes")
      #expect(await worker.outcome().status == 0)
      try await eventually("it is gone") { try await list().isEmpty }
      #expect(try await stack.count("SELECT count(*) FROM actions WHERE action LIKE 'workers.%'") == 2)
    }
  }

  @Test("The small load test leaves nothing behind")
  func bench() async throws {
    struct Report: Decodable {
      let jobs: Int
      let drained: Double
      let queue: String
    }
    try await TestStack.with { stack in
      let report = try await CLI(stack)("bench", "--jobs", "1000", "--json").json(Report.self)
      #expect(report.jobs == 1000 && report.drained > 0)
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await stack.count("SELECT count(*) FROM job_minutes") == 0)
      let numbers = try await stack.broker.depth(of: QueueName(rawValue: report.queue))
      #expect(numbers.counts == QueueCounts())
    }
  }
}
