import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import HTTPTypes
import Hummingbird
import LibPQClient
import Locking
import ProgramTestSupport
import TestSupport
import Testing

@testable import DurableJobsDashboard

@Suite("Dead letters") struct DeadPageTests {
  @Test("Those that are ticked are retried or thrown away, and no others")
  func chosen() async throws {
    try await Stage.with { stage in
      let ids = try await stage.deadLetter(5)
      let one = try await stage.signIn()
      #expect(try await one.get("/admin/dead").text.components(separatedBy: "type=\"checkbox\"").count == 6)

      let retry = ids.prefix(2).map { ("id", $0.description) } + [("do", "retry")]
      #expect(try await one.post("/admin/dead", retry).location == "/admin/dead")
      #expect(try await one.get("/admin/dead").contains("2 jobs of the dead letters were pending again."))
      #expect(try await stage.count("SELECT count(*) FROM jobs") == 2)

      let delete = ids.dropFirst(2).prefix(2).map { ("id", $0.description) } + [("do", "delete")]
      let question = try await one.post("/admin/dead", delete)
      #expect(question.status == 200 && question.contains("Delete 2 dead letters?"))
      #expect(question.contains("value=\"\(ids[2])\"") && question.contains("value=\"\(ids[3])\""))
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 3)
      #expect(try await one.post("/admin/dead", delete, confirmed: true).status == 303)
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs WHERE id = \(PostgresUUID(ids[4]))") == 1)
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 1)

      // A job that is gone meanwhile does not stop the others.
      let again = [("id", ids[0].description), ("id", ids[4].description), ("do", "retry")]
      #expect(try await one.post("/admin/dead", again).status == 303)
      #expect(try await one.get("/admin/dead").contains("1 are unchanged"))
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 0)

      #expect(try await one.post("/admin/dead", [("do", "retry")]).status == 422)
      #expect(try await one.post("/admin/dead", [("id", ids[0].description)]).status == 422)
    }
  }

  @Test("All of a kind, and all: both ask before, and leave the others alone")
  func all() async throws {
    try await Stage.with { stage in
      try await stage.deadLetter(1200)
      try await stage.deadLetter(3, kind: "sessions.sweep", payload: "{}")
      let one = try await stage.signIn()
      #expect(try await one.get("/admin/dead?kind=posts.fan-out").contains("value=\"retry-all\""))
      let retry = [("do", "retry-all"), ("kind", "posts.fan-out")]
      #expect(try await one.post("/admin/dead", retry).contains("Retry all dead letters of posts.fan-out?"))
      #expect(try await stage.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await one.post("/admin/dead", retry, confirmed: true).location == "/admin/dead?kind=posts.fan-out")
      try await eventually("all are pending again") { try await stage.count("SELECT count(*) FROM jobs") == 1200 }
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 3)

      let delete = [("do", "delete-all")]
      #expect(try await one.post("/admin/dead", delete).contains("Delete all dead letters?"))
      #expect(try await one.post("/admin/dead", delete, confirmed: true).status == 303)
      try await eventually("all are gone") { try await stage.count("SELECT count(*) FROM dead_jobs") == 0 }
      try await eventually("nothing is under way") { try await !one.get("/admin/dead").contains("so far") }
    }
  }

  @Test("An action on all affects what the filter finds, and nothing else")
  func filtered() async throws {
    try await Stage.with { stage in
      try await stage.deadLetter(3, error: "timed out after 5 s")
      try await stage.deadLetter(4, error: "refused")
      try await stage.deadLetter(2, kind: "sessions.sweep", payload: "{}", error: "timed out after 9 s")
      let one = try await stage.signIn()
      let found = try await one.get("/admin/dead?error=timed%20out&kind=posts.fan-out").text
      #expect(found.components(separatedBy: "type=\"checkbox\"").count == 4 && !found.contains("refused"))
      #expect(found.contains("Retry all dead letters of posts.fan-out with “timed out” in the error…"))
      let retry = [("do", "retry-all"), ("kind", "posts.fan-out"), ("error", "timed out")]
      let question = try await one.post("/admin/dead", retry)
      #expect(question.contains("name=\"error\" value=\"timed out\"") && question.contains("name=\"kind\""))
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 9)
      #expect(try await one.post("/admin/dead", retry, confirmed: true).status == 303)
      try await eventually("they are pending") { try await stage.count("SELECT count(*) FROM jobs") == 3 }
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 6)
      let delete = [("do", "delete-all"), ("text", "author"), ("queue", "fanout")]
      #expect(try await one.post("/admin/dead", delete, confirmed: true).status == 303)
      try await eventually("they are gone") { try await stage.count("SELECT count(*) FROM dead_jobs") == 2 }
      // A word of a masked secret finds nothing, and so nothing is done.
      try await stage.deadLetter(1, error: "no access with \(Stage.readToken)")
      let probe = try await one.get("/admin/dead?error=\(DashboardLink.escape(String(Stage.readToken.prefix(9))))")
      #expect(!probe.contains("type=\"checkbox\""))
      #expect(try await one.get("/admin/dead?error=no%20access").contains("type=\"checkbox\""))
    }
  }

  @Test("All pending jobs that a filter finds are cancelled")
  func cancelled() async throws {
    try await Stage.with { stage in
      try await stage.deadLetter(5)
      let one = try await stage.signIn()
      #expect(try await one.post("/admin/dead", [("do", "retry-all")], confirmed: true).status == 303)
      try await eventually("they are pending") { try await stage.count("SELECT count(*) FROM jobs") == 5 }
      #expect(try await one.get("/admin/jobs").contains("Cancel all pending jobs…"))
      #expect(try await !one.get("/admin/jobs?state=done").contains("Cancel all"))
      #expect(try await !one.get("/admin/jobs?kind=nothing").contains("Cancel all"))
      let other = [("do", "cancel-all"), ("kind", "sessions.sweep")]
      #expect(try await one.post("/admin/jobs", other, confirmed: true).status == 303)
      #expect(try await stage.count("SELECT count(*) FROM jobs") == 5)
      let cancel = [("do", "cancel-all"), ("queue", "fanout"), ("state", "retrying")]
      let question = try await one.post("/admin/jobs", cancel)
      #expect(question.contains("Cancel all retrying jobs in fanout?"))
      #expect(try await one.post("/admin/jobs", cancel, confirmed: true).status == 303)
      // A worker's transaction holds one of them.
      try await stage.stack.database.pool.transaction { transaction in
        _ = try await transaction.query("SELECT FROM jobs LIMIT 1 FOR UPDATE")
        #expect(try await one.post("/admin/jobs", [("do", "cancel-all")], confirmed: true).status == 303)
        let page = try await one.get("/admin/jobs")
        #expect(page.contains("4 jobs of the list were cancelled; one is running, and its worker cancels it."))
      }
      #expect(try await one.post("/admin/jobs", [("do", "cancel-all")], confirmed: true).status == 303)
      #expect(try await one.get("/admin/jobs").contains("One job of the list was cancelled."))
      try await eventually("they are gone") { try await stage.count("SELECT count(*) FROM jobs") == 0 }
      #expect(try await stage.count("SELECT count(*) FROM ended_jobs WHERE state = 'cancelled'") == 5)
      #expect(try await one.post("/admin/jobs", [("do", "cancel-all"), ("state", "dead")]).status == 200)
      let refused = try await one.post("/admin/jobs", [("do", "cancel-all"), ("state", "dead")], confirmed: true)
      #expect(refused.status == 303)
      #expect(try await one.get("/admin/jobs").contains("there is nothing to cancel"))
    }
  }

  @Test("What takes long goes on without the browser, and the page says how far it is")
  func background() async throws {
    let clock = ContinuousClock()
    let noon = Date(timeIntervalSince1970: 1_800_014_400)
    let now = Locked(noon)
    let work = BulkWork(clock: clock, now: { now.withLock { $0 } }, logger: .quiet)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await work.run() }
      let (gate, open) = AsyncStream.makeStream(of: Void.self)
      let outcome = try await work.start("Counting", patience: .milliseconds(1)) { progress in
        progress(1234)
        for await _ in gate {}
        return .done(5678)
      }
      #expect(outcome == nil)
      try await eventually("it is under way") { work.sentences == ["Counting: 1,234 so far."] }
      open.finish()
      try await eventually("it is done") { work.sentences.isEmpty }
      let failed = try await work.start("Failing", patience: .seconds(60)) { _ in
        throw DashboardRefusal(.conflict, "no", "it cannot be")
      }
      if case .failed(let reason) = failed {
        #expect(reason == "it cannot be")
      } else {
        Issue.record("\(String(describing: failed))")
      }
      #expect(work.sentences == ["2027-01-15 12:00:00 UTC: Failing ended early, after 0: it cannot be"])
      now.withLock { $0 = noon + BulkWork.lifetime + 1 }
      #expect(work.sentences.isEmpty)
      group.cancelAll()
    }
    await #expect(throws: DashboardRefusal.self) {
      _ = try await work.start("Late", patience: .seconds(60)) { _ in .done(1) }
    }
  }
}
