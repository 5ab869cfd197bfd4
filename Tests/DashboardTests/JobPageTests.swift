import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import HTTPTypes
import Hummingbird
import LibPQClient
import Locking
import ProgramTestSupport
import Testing

@testable import DurableJobsDashboard

@Suite("Jobs") struct JobPageTests {
  @Test("Whatever a payload and an error hold is text, and no page")
  func escaping() async throws {
    try await Stage.with { stage in
      let evil = #"{"x":"</code></pre><script>alert(1)</script><img src=x onerror=alert(2)>'&amp;"}"#
      let id = try #require(
        try await stage.deadLetter(payload: evil, error: "<script>alert(3)</script> \"quoted\" 'so'").first)
      let one = try await stage.signIn()
      for path in [
        "/admin/jobs/\(id)", "/admin/dead", "/admin/jobs?state=dead&text=%3Cscript%3E&kind=%22%3E%3Cscript%3E",
      ] {
        let page = try await one.get(path)
        #expect(page.status == 200, "\(path)")
        // The frame's own scripts are separate files.
        #expect(!page.contains("<script>") && !page.contains("<img src=x"), "\(path)")
      }
      let page = try await one.get("/admin/jobs/\(id)")
      #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
      #expect(page.contains("&lt;script&gt;alert(3)&lt;/script&gt; &quot;quoted&quot; &#39;so&#39;"))
    }
  }

  @Test("A quotation mark with an accent on it ends no attribute")
  func combining() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      let evil = "\"\u{301} autofocus onfocus=alert(1) x=\"\u{301}>\u{338}<b>"
      let page = try await one.get("/admin/jobs?text=" + DashboardLink.escape(evil))
      #expect(page.status == 200)
      #expect(!page.contains("value=\"\"\u{301}") && !page.contains("><b>"))
      // To Swift, the combining accent is part of the character before it.
      #expect(
        String(page.text.unicodeScalars.filter(\.isASCII)).contains(
          "&quot; autofocus onfocus=alert(1) x=&quot;&gt;&lt;b&gt;"))
      for scalar in ["<", ">", "&", "\"", "'"] as [Unicode.Scalar] {
        for mark in ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{1F3FD}", "\u{0903}", "é"] {
          #expect(String("\(scalar)\(mark)".escaped.unicodeScalars.first.map(Character.init) ?? " ") == "&")
          let rendered = try Renderer(secrets: []).part(
            "job-rows", at: MountPath("/admin"), for: nil, Rows(none: "\(scalar)\(mark)"))
          let shown = rendered.components(separatedBy: "<p class=\"empty\">")[1].components(separatedBy: "</p>")[0]
          #expect(!shown.unicodeScalars.filter { $0 != "&" }.contains(scalar))
        }
      }
    }
  }

  private struct Rows {
    let hasJobs = false
    let none: String
  }

  @Test("What the program keeps secret stands on no page, even if a job says it")
  func secrets() async throws {
    try await Stage.with { stage in
      let payload = #"{"password":"pw-1","note":"\#(Stage.password)","api_key":["key-1"],"post":12345678901234567890}"#
      let id = try #require(
        try await stage.deadLetter(
          payload: payload, error: "cannot reach redis://:\(Stage.password)@h with \(Stage.token)"
        )
        .first)
      let one = try await stage.signIn()
      for path in ["/admin/jobs/\(id)", "/admin/dead", "/admin/dead?text=\(DashboardLink.escape(Stage.password))"] {
        let page = try await one.get(path)
        for secret in [Stage.password, Stage.token, "pw-1", "key-1"] { #expect(!page.contains(secret), "\(path)") }
      }
      // Nor does its beginning, where a list shortens an error.
      try await stage.deadLetter(error: String(repeating: "x", count: 150) + Stage.password)
      let list = try await one.get("/admin/dead")
      #expect(list.contains("xxxxx") && !list.contains("a-pas"))
      // A number stays as it was written.
      #expect(try await one.get("/admin/jobs/\(id)").contains("&quot;post&quot;: 12345678901234567890"))
    }
  }

  @Test("No search tells of what is masked, whoever asks", arguments: [Stage.token, Stage.readToken])
  func searchOfMasked(token: String) async throws {
    try await Stage.with { stage in
      let payload = #"{"post":7,"password":"hunter2","author":8,"note":"\#(Stage.password)"}"#
      let pending = try await stage.owe(payload: payload)
      try await stage.deadLetter(2, payload: payload)
      let one = try await stage.signIn(token)
      for path in ["/admin/jobs?", "/admin/jobs?state=dead&", "/admin/dead?"] {
        /// A page without the search text and the parts that vary between pages.
        func found(_ text: String) async throws -> String {
          let page = try await one.get(path + "text=" + DashboardLink.escape(text))
          #expect(page.status == 200)
          return page.text.replacing("value=\"\(text.escaped)\"", with: "").replacing("value=\"••••••••\"", with: "")
        }
        let nothing = try await found("nowhere")
        for probe in ["hunter2", #""hunt"#, #"password":"hunter2""#, "2\",", "in-a-url", Stage.password] {
          #expect(try await found(probe) == nothing, "\(path) \(probe)")
        }
        #expect(try await found(#""author":8"#) != nothing, "after the masked value")
      }
      #expect(try await one.get("/admin/jobs?text=password").contains(pending[0].description), "the name is shown")
    }
  }

  @Test("A dead letter is retried, once, and the log says by whom")
  func retry() async throws {
    try await Stage.with { stage in
      let id = try #require(try await stage.deadLetter().first)
      let one = try await stage.signIn(name: "ann")
      let before = try await one.get("/admin/jobs/\(id)")
      #expect(before.contains("id=\"state\">dead") && before.contains("it broke") && before.contains("Delete…"))
      #expect(!before.contains("Cancel…") && !before.contains("Reschedule"))
      let reply = try await one.post("/admin/jobs/\(id)/retry")
      #expect(reply.status == 303 && reply.location == "/admin/jobs/\(id)")
      let after = try await one.get("/admin/jobs/\(id)")
      #expect(after.contains("id=\"state\">waiting") && after.contains("The job is pending and due now."))
      // The notice is shown once.
      #expect(try await !one.get("/admin/jobs/\(id)").contains("due now."))
      #expect(try await one.post("/admin/jobs/\(id)/retry").status == 409)
      let log = try await one.get("/admin/actions")
      #expect(log.contains("ann") && log.contains("/admin/jobs/\(id)") && log.contains("retry"))
    }
  }

  @Test("A job that runs on is not called cancelled")
  func cancelOfHeld() async throws {
    try await Stage.with { stage in
      let id = try #require(try await stage.owe().first)
      let one = try await stage.signIn()
      try await stage.stack.pool.transaction { transaction in
        // Its end is not committed yet.
        try await transaction.execute("DELETE FROM jobs WHERE queue = 'fanout' AND id = \(PostgresUUID(id))")
        #expect(try await one.post("/admin/jobs/\(id)/cancel", confirmed: true).status == 303)
        #expect(try await one.get("/admin/jobs/\(id)").contains("The job still runs"))
      }
    }
  }

  @Test("Cancelling, deleting and rescheduling: the first two ask before")
  func actions() async throws {
    try await Stage.with { stage in
      let pending = try await stage.owe(2)
      let dead = try #require(try await stage.deadLetter().first)
      let one = try await stage.signIn()

      let question = try await one.post("/admin/jobs/\(pending[0])/cancel")
      #expect(question.status == 200 && question.contains("Cancel this job?"))
      #expect(question.contains("action=\"/admin/jobs/\(pending[0])/cancel\""))
      #expect(try await stage.count("SELECT count(*) FROM jobs") == 2)
      #expect(try await one.post("/admin/jobs/\(pending[0])/cancel", confirmed: true).status == 303)
      #expect(try await stage.count("SELECT count(*) FROM jobs") == 1)
      #expect(try await one.get("/admin/jobs/\(pending[0])").contains("id=\"state\">cancelled"))

      #expect(try await one.post("/admin/jobs/\(dead)/delete").contains("Delete this dead letter?"))
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 1)
      #expect(try await one.post("/admin/jobs/\(dead)/delete", confirmed: true).status == 303)
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 0)

      let later = try await one.post("/admin/jobs/\(pending[1])/reschedule", [("at", "2100-01-02T03:04")])
      #expect(later.status == 303)
      let page = try await one.get("/admin/jobs/\(pending[1])")
      #expect(page.contains("2100-01-02 03:04:00") && page.contains("id=\"state\">delayed"))
      #expect(try await one.post("/admin/jobs/\(pending[1])/reschedule", [("at", "soon")]).status == 422)
      #expect(try await one.post("/admin/jobs/\(pending[1])/reschedule").status == 422)
      #expect(try await one.post("/admin/jobs/nonsense/retry").status == 422)
      #expect(try await one.get("/admin/jobs/0190c3a0-0000-7000-8000-000000000001").status == 404)
      #expect(try await stage.actions().count == 3)
    }
  }

  @Test("Pages follow each other without a gap, whatever the filter")
  func paging() async throws {
    try await Stage.with { stage in
      let fanOuts = try await stage.owe(120)
      let sweeps = try await stage.owe(7, kind: "sessions.sweep", queue: "default", payload: "{}")
      let marked = try await stage.owe(payload: #"{"post":77,"author":4242}"#)
      let one = try await stage.signIn()
      func all(_ path: String) async throws -> [String] {
        var (found, next) = ([String](), Optional(path))
        while let path = next {
          let page = try await one.get(path)
          #expect(page.status == 200)
          found += page.text.matches(of: #/<code class="sub">([0-9a-f-]{36})</code>/#).map { String($0.1) }
          next = page.text.firstMatch(of: #/href="([^"]*)" rel="next"/#)
            .map { String($0.1).replacing("&amp;", with: "&") }
        }
        return found
      }
      let everything = try await all("/admin/jobs")
      #expect(everything.count == 128 && Set(everything) == Set((fanOuts + sweeps + marked).map(\.description)))
      #expect(Set(try await all("/admin/jobs?kind=sessions.sweep")) == Set(sweeps.map(\.description)))
      #expect(Set(try await all("/admin/jobs?queue=default")) == Set(sweeps.map(\.description)))
      #expect(try await all("/admin/jobs?text=4242") == marked.map(\.description))
      #expect(try await all("/admin/jobs?since=2100-01-01T00%3A00").isEmpty)
      #expect(try await all("/admin/jobs?until=2100-01-01T00%3A00").count == 128)
      #expect(try await all("/admin/jobs?state=dead").isEmpty)
      for wrong in ["state=none", "since=soon", "before=nonsense"] {
        #expect(try await one.get("/admin/jobs?\(wrong)").status == 422, "\(wrong)")
      }
      let find = try await one.get("/admin/jobs/find?id=%20\(marked[0])%20")
      #expect(find.location == "/admin/jobs/\(marked[0])")
    }
  }
}
