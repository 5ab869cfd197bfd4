import DurableJobsDashboard
import HTTPTypes
import Locking

/// A program's own pages: a list with an action, a plain HTML page, and an error.
struct ReportPages: DashboardPages {
  struct Closed: Error {}

  let reports = Locked(["may <&>", "june"])

  let menu = [DashboardMenuEntry("Reports", path: "reports")]
  let templates = [
    "reports": """
    <h1>Reports</h1>
    <ul>{{#reports}}<li>{{.}}</li>{{/reports}}</ul>
    <p><a href="{{base}}/reports/print/june">Print</a> <a href="{{home}}">Overview</a></p>
    {{#canAct}}<form method="post" action="{{base}}/reports/clear">
    <input type="hidden" name="form" value="{{formToken}}"><button>Clear</button></form>{{/canAct}}
    """
  ]

  private struct Model {
    let reports: [String]
  }

  func add(to routes: inout DashboardRoutes) {
    routes.page("reports") { visit in
      try await visit.page("reports", title: "Reports", Model(reports: reports.withLock { $0 }))
    }
    routes.page("reports/print/{name}") { visit in
      let name = try visit.parameter("name")
      guard reports.withLock({ $0.contains(name) }) else { throw Closed() }
      return try await visit.page(html: "<h1>Printed</h1><p>\(OpsProgram.secret)</p>", title: "Print")
    }
    routes.action("reports/clear") { visit, form in
      let question = visit.confirm(
        form, "Clear the reports?", "They cannot be brought back.", label: "Clear them", back: "reports")
      if let question { return question }
      reports.withLock { $0 = [] }
      return try await visit.done("\(visit.name) cleared “all” reports.", to: "reports")
    }
  }

  func address(ofFinding name: String) -> String? { name == "printer" ? "reports" : nil }

  func refusal(of error: any Error) -> DashboardRefusal? {
    error is Closed ? DashboardRefusal(.gone, "The report is closed", "Ask for another one.") : nil
  }
}
