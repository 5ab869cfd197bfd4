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

@Suite("Queues, workers, schedules, and the rest") struct OperationPageTests {
  @Test("A queue is paused and resumed, and cleared after a question")
  func queues() async throws {
    try await Stage.with { stage in
      try await stage.owe(3)
      let one = try await stage.signIn()
      #expect(try await one.post("/admin/queues/fanout/pause", [("back", "queue")]).location == "/admin/queues/fanout")
      let paused = try await one.get("/admin/queues/fanout")
      #expect(paused.contains("paused</span>") && paused.contains(">Resume") && paused.contains("by ann"))
      #expect(try await stage.count("SELECT count(*) FROM queue_pauses") == 1)
      #expect(try await one.post("/admin/queues/fanout/resume").location == "/admin/queues")
      #expect(try await stage.count("SELECT count(*) FROM queue_pauses") == 0)
      #expect(try await one.get("/admin/queues").contains("fanout is resumed."))

      #expect(try await one.post("/admin/queues/fanout/clear").contains("Clear fanout?"))
      #expect(try await stage.count("SELECT count(*) FROM jobs") == 3)
      #expect(try await one.post("/admin/queues/fanout/clear", confirmed: true).status == 303)
      try await eventually("it is empty") { try await stage.count("SELECT count(*) FROM jobs") == 0 }
      #expect(try await one.post("/admin/queues/nobodys/pause").status == 404)
      #expect(try await one.get("/admin/queues/nobodys").status == 404)
      #expect(
        try await stage.actions().filter { $0.hasPrefix("queues.") }
          == ["queues.clear fanout", "queues.resume fanout", "queues.pause fanout"])
    }
  }

  @Test("A worker is shown with what it runs, rests, and ends")
  func workers() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      #expect(try await one.get("/admin/workers").contains("No worker is running."))
      let id = JobID.next()
      let since = Int(Date().timeIntervalSince1970 * 1000)
      try await stage.stack.pool.execute(
        """
        INSERT INTO workers (name, host, pid, version, started_at, state, queues, running)
        VALUES ('host<1>', 'host', 7, '1.0', now(), 'running', '[{"queue":"fanout","slots":16}]',
          \(PostgresJSON(#"[{"id":"\#(id)","kind":"posts.fan-out","queue":"fanout","attempt":2,"since":\#(since)}]"#)))
        """)
      let page = try await one.get("/admin/workers")
      #expect(page.contains("host&lt;1&gt;") && page.contains("fanout × 16") && page.contains("/admin/jobs/\(id)"))
      let overview = try await one.get("/admin")
      #expect(overview.contains("host&lt;1&gt;") && overview.contains("1 running"))
      #expect(try await one.post("/admin/workers/quiet", [("name", "host<1>")]).status == 303)
      #expect(try await stage.count("SELECT count(*) FROM workers WHERE orders = 'quiet'") == 1)
      #expect(try await one.post("/admin/workers/stop", [("name", "host<1>")]).contains("Stop host&lt;1&gt;?"))
      #expect(try await one.post("/admin/workers/stop", [("name", "host<1>")], confirmed: true).status == 303)
      #expect(try await stage.count("SELECT count(*) FROM workers WHERE orders = 'stop'") == 1)
      #expect(try await one.post("/admin/workers/quiet").contains("Quiet all workers?"))
      #expect(try await one.post("/admin/workers/stop").contains("Stop all workers?"))
      #expect(try await one.post("/admin/workers/quiet", [("name", "nobody")]).status == 404)
    }
  }

  @Test("A schedule runs now, rests, and goes on")
  func schedules() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      let name = [("name", Stage.schedule.rawValue)]
      #expect(try await one.get("/admin/schedules").contains(">Run now"))
      #expect(try await one.post("/admin/schedules/run", name).status == 303)
      #expect(try await stage.count("SELECT count(*) FROM jobs WHERE kind = 'sessions.sweep'") == 1)
      #expect(try await one.post("/admin/schedules/pause", name).status == 303)
      let paused = try await one.get("/admin/schedules")
      #expect(
        paused.contains("does not fire") && paused.contains(">Resume") && paused.contains("ago</time>")
          || paused.contains("now</time>"))
      #expect(try await one.post("/admin/schedules/resume", name).status == 303)
      #expect(try await one.post("/admin/schedules/pause", [("name", "nothing")]).status == 422)
      #expect(try await one.post("/admin/schedules/run").status == 422)
      #expect(
        try await stage.actions()
          == ["schedules.resume tests.sweep", "schedules.pause tests.sweep", "schedules.run tests.sweep"])
    }
  }

  @Test("Fan-outs show how far they are")
  func fanOuts() async throws {
    try await Stage.with { stage in
      try await stage.stack.pool.execute(
        """
        WITH a AS (INSERT INTO accounts (username, email) VALUES ('ann', 'ann@example.org') RETURNING id),
          p AS (
            INSERT INTO posts (author_id, title) SELECT id, 'News <b>' FROM a, generate_series(1, 2)
            RETURNING id, author_id)
        INSERT INTO fan_outs (post_id, author_id, followers, delivered, chunks, chunks_done, finished_at)
        SELECT id, author_id, 1000, CASE WHEN row_number() OVER () = 1 THEN 250 ELSE 1000 END, 4,
          CASE WHEN row_number() OVER () = 1 THEN 1 ELSE 4 END,
          CASE WHEN row_number() OVER () = 2 THEN clock_timestamp() END FROM p
        """)
      let one = try await stage.signIn()
      let page = try await one.get("/admin/fan-outs")
      #expect(page.contains("250 of 1,000") && page.contains("value=\"250\"") && page.contains("25 %"))
      #expect(page.contains("<strong>ann</strong>") && page.contains("News &lt;b&gt;"))
      for path in ["/admin/rankings", "/admin/rankings?by=followers&window=week", "/admin/quota", "/admin/actions"] {
        #expect(try await one.get(path).status == 200, "\(path)")
      }
      for path in ["/admin/rankings?platform=none", "/admin/rankings?before=x"] {
        #expect(try await one.get(path).status == 422, "\(path)")
      }
    }
  }

  @Test("The log goes back page by page")
  func log() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      for _ in 0..<60 {
        try await ActionLog(stage.stack.database).record(
          "queues.pause", "<queue>", detail: ["why": "<b>"], by: Operator(name: "bob"))
      }
      let first = try await one.get("/admin/actions")
      #expect(first.text.components(separatedBy: "queues.pause").count == 51)
      #expect(first.contains("why: &lt;b&gt;") && first.contains("&lt;queue&gt;"))
      let next = try #require(first.text.firstMatch(of: #/href="([^"]*)" rel="next"/#)).1
      #expect(try await one.get(String(next)).text.components(separatedBy: "queues.pause").count == 11)
    }
  }
}
