import DurableJobsAdmin
import DurableJobsDashboard
import Foundation
import HTTPTypes
import Hummingbird
import JobsTestSupport
import Locking
import Testing
import TestSupport

@Suite("Mounted on a router of another program") struct MountTests {
  @Test("It answers beside the program's own routes, and takes no other path")
  func beside() async throws {
    try await OpsProgram.with { program in
      let ann = Browser(program)
      #expect(try await ann.get("/hello").text == "hello")
      let overview = try await ann.get("/ops")
      #expect(overview.status == 200 && overview.contains("<title>Overview · Jobs</title>"))
      for path in ["/", "/opsx", "/opsx/jobs", "/jobs"] {
        let reply = try await ann.get(path)
        #expect(reply.status == 404 && reply.headers[.contentSecurityPolicy] == nil, "\(path)")
      }
      let nothing = try await ann.get("/ops/nothing/here")
      #expect(nothing.status == 404 && nothing.contains("There is no page at this address."))
      #expect(nothing.contains(">Reports</a>"), "a visitor keeps the menu")
      #expect(nothing.headers[.contentSecurityPolicy]?.contains("default-src 'none'") == true)
      // The program's metrics include the dashboard's routes.
      program.routes.withLock { $0 = [] }
      _ = try await ann.get("/ops/queues/invoices")
      #expect(program.routes.withLock { $0 } == ["/ops/queues/{queue}"])
    }
  }

  @Test("No link leaves the path under which it is mounted", arguments: ["/ops", "/internal/jobs", "/"])
  func links(base: String) async throws {
    try await OpsProgram.with(at: base) { program in
      try await program.addJobs()
      let ann = Browser(program)
      let prefix = base == "/" ? "/" : base + "/"
      var seen: Set<String> = []
      var next = [base]
      while let path = next.popLast() {
        guard seen.insert(path).inserted else { continue }
        let page = try await ann.get(path)
        #expect(page.status == 200, "\(path)")
        // A page's anchors stay on the page.
        for link in page.links where !link.hasPrefix("#") {
          #expect(link == base || link.hasPrefix(prefix) || link.hasPrefix(base + "?"), "\(link) on \(path)")
          #expect(!link.contains("//"), "\(link) on \(path)")
          let isAction = page.contains("action=\"\(link)\"")
          // A page's charts count as one page for all windows.
          if !isAction, !link.contains("window=") { next.append(link) }
        }
      }
      for page in ["queues", "queues/invoices", "jobs", "dead", "workers", "schedules", "actions", "reports"] {
        #expect(seen.contains(prefix + page), "\(page) is reached")
      }
      #expect(seen.contains { $0.hasPrefix(prefix + "assets/style.css?v=") })
      #expect(seen.contains { $0.hasPrefix(prefix + "jobs/0") }, "a job's page is reached")
      // Nor do redirects after an action.
      let page = try await ann.get(prefix + "queues/invoices")
      let token = try #require(page.formToken)
      #expect(try await ann.post(prefix + "queues/invoices/pause", [("form", token)]).location == prefix + "queues")
      let question = try await ann.post(prefix + "queues/invoices/clear", [("form", token)])
      #expect(question.links.contains(prefix + "queues/invoices/clear") && question.contains("Clear invoices?"))
    }
  }

  @Test("The app's pages are among the others: in the menu, in the frame, with their errors and findings")
  func pages() async throws {
    let finding = try JSONDecoder().decode(
      [Finding].self, from: Data(#"[{"name":"printer","status":"fail","detail":"no paper","advice":"add some"}]"#.utf8))
    var configuration = Dashboard.Configuration()
    configuration.brand = "Shop"
    try await OpsProgram.with(configuration: configuration, findings: finding) { program in
      let ann = Browser(program)
      let page = try await ann.get("/ops/reports")
      #expect(page.status == 200 && page.contains("<title>Reports · Shop</title>"))
      #expect(page.contains("<a href=\"/ops/reports\" aria-current=\"page\">Reports</a>"))
      #expect(page.contains("<li>may &lt;&amp;&gt;</li>"))
      let printed = try await ann.get("/ops/reports/print/june")
      #expect(printed.contains("<h1>Printed</h1>") && !printed.contains(OpsProgram.secret))
      #expect(printed.contains("aria-current=\"page\">Reports</a>"), "a page below the entry's")
      let closed = try await ann.get("/ops/reports/print/never")
      #expect(closed.status == 410 && closed.contains("The report is closed") && closed.contains(">Reports</a>"))
      try await eventually("the finding leads to the page") {
        try await ann.get("/ops").contains("<a href=\"/ops/reports\">Show<span class=\"hidden\"> printer</span></a>")
      }
    }
  }

  @Test("A template that is not well-formed, or has another's name, is refused at once")
  func templates() async throws {
    struct Broken: DashboardPages {
      let templates: [String: String]
      func add(to routes: inout DashboardRoutes) {}
    }
    try await OpsProgram.with { program in
      for templates in [["mine": "{{#open}}"], ["jobs": "mine"]] {
        #expect(throws: (any Error).self) { try program.dashboard(adding: Broken(templates: templates)) }
      }
      #expect(throws: Never.self) { try program.dashboard(adding: Broken(templates: ["mine": "{{open}}"])) }
    }
  }
}
