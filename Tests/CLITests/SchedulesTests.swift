import DurableJobs
import DurableJobsRedis
import Foundation
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

@Suite("fanmill schedules", .timeLimit(.minutes(5)))
struct SchedulesTests {
  private struct List<Item: Decodable>: Decodable { let items: [Item] }
  private struct Schedule: Decodable {
    let name: String
    let state: String
    let timing: String
    let kind: String
    let lastTick: Date?
    let nextTick: Date?
  }
  private struct Run: Decodable {
    let schedule: String
    let tick: Date
    let id: String
    let kind: String
    let queue: String
  }

  @Test("A name that no schedule has is refused with the nearest one")
  func unknown() async throws {
    let outcome = try await CLI(nowhere)("schedules", "run", "session.sweep", status: 64)
    #expect(outcome.errors.contains("there is no schedule named 'session.sweep'; the nearest is 'sessions.sweep'"))
    #expect(outcome.errors.contains("feed.partitions"))
    try await TestStack.with { stack in
      for action in ["pause", "resume"] {
        let outcome = try await CLI(stack)("schedules", action, "feed.partition", status: 64)
        #expect(outcome.errors.contains("the nearest is 'feed.partitions'"))
      }
      #expect(try await stack.count("SELECT count(*) FROM schedules") == 0)
    }
  }

  @Test(
    "Arguments that are missing or too many end with 64",
    arguments: [["run"], ["pause"], ["resume"], ["list", "x"], ["stop", "x"]])
  func usage(arguments: [String]) async throws {
    let outcome = try await BuiltProgram("fanmill").run(["schedules"] + arguments, environment: nowhere)
    #expect(outcome.status == 64)
    #expect(outcome.output.isEmpty)
  }

  @Test("Schedules are listed before any worker ran, paused, resumed, and run by hand")
  func life() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      func sweep() async throws -> Schedule {
        let items = try await cli("schedules", "list", "--json").json(List<Schedule>.self).items
        #expect(items.map(\.name) == items.map(\.name).sorted())
        return try #require(items.first { $0.name == "sessions.sweep" })
      }
      let new = try await sweep()
      #expect(new.state == "new" && new.timing == "every 1h" && new.kind == "sessions.sweep")
      #expect(new.lastTick == nil && new.nextTick == nil)

      #expect(try await cli("schedules", "pause", "sessions.sweep", "--json").json(Schedule.self).state == "paused")
      try await cli("schedules", "pause", "sessions.sweep")
      #expect(try await sweep().state == "paused")
      #expect(try await cli("schedules", "list").output.contains("paused"))

      // It can be run by hand while paused, once as long as its job is pending.
      let run = try await cli("schedules", "run", "sessions.sweep", "--json").json(Run.self)
      #expect(run.schedule == "sessions.sweep" && run.kind == "sessions.sweep" && run.queue == "default")
      #expect(try await stack.broker.depth(of: "default").ready == 1)
      let job = try await stack.pool.query("SELECT id::text FROM jobs WHERE kind = 'sessions.sweep'")
      #expect(try job.map { try $0.decode(String.self) } == [run.id])
      let refused = try await cli("schedules", "run", "sessions.sweep", status: 1)
      #expect(refused.errors.contains("a job of sessions.sweep is already pending"))
      #expect(try await stack.count("SELECT count(*) FROM schedule_ticks") == 1)

      let resumed = try await cli("schedules", "resume", "sessions.sweep", "--json").json(Schedule.self)
      #expect(resumed.state == "active")
      #expect(try #require(resumed.nextTick) > Date() - 1)
      #expect(try await cli("schedules", "resume", "sessions.sweep").output.contains("sessions.sweep is active"))
      #expect(try await sweep().lastTick == run.tick)
    }
  }

  @Test("A worker makes its schedules known, and one without a scheduler does not")
  func worker() async throws {
    try await TestStack.with { stack in
      let settings = stack.settings.merging(["FANMILL_WORKER_PORT": "0", "FANMILL_SCHEDULER": "off"]) { $1 }
      let without = try BuiltProgram("fanmill-worker").start(environment: settings)
      try await CLI(stack)("schedules", "run", "sessions.sweep")
      try await eventually("the job is done") { try await stack.count("SELECT count(*) FROM jobs") == 0 }
      #expect(try await stack.count("SELECT count(*) FROM schedules") == 1, "the one that was run by hand")
      without.send(SIGTERM)
      #expect(await without.outcome().status == 0)

      let with = try BuiltProgram("fanmill-worker").start(
        environment: stack.settings.merging(["FANMILL_WORKER_PORT": "0"]) { $1 })
      try await eventually("no schedule is new") {
        try await CLI(stack)("schedules", "list", "--json").json(List<Schedule>.self).items
          .allSatisfy { $0.state == "active" }
      }
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 0, "a first start does not fire the past")
      with.send(SIGTERM)
      #expect(await with.outcome().status == 0)
    }
  }
}
