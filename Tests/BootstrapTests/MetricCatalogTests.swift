import Foundation
import Testing

@testable import Bootstrap

struct MetricCatalogTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  @Test func everyMetricIsDocumentedAsItIs() throws {
    let rows = try text("docs/metrics.md").split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
    let expected = MetricCatalog.all.map { metric in
      let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
      return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
    }
    #expect(rows == expected)
    #expect(Set(MetricCatalog.all.map(\.name)).count == MetricCatalog.all.count)
  }

  /// The metric names in a PromQL expression, without a histogram's suffixes.
  private func metrics(in text: String) -> Set<String> {
    var names: Set<String> = []
    for match in text.matches(of: #/\b(?:fanmill|process)_[a-z_]+/#) {
      var name = String(match.output)
      for suffix in ["_bucket", "_count", "_sum"]
      where name.hasSuffix(suffix) && MetricCatalog.all.contains(where: { $0.name + suffix == name }) {
        name.removeLast(suffix.count)
      }
      names.insert(name)
    }
    return names
  }

  @Test func alertsAndDashboardNameMetricsThatThereAre() throws {
    let known = Set(MetricCatalog.all.map(\.name))
    for path in [
      "deploy/prometheus/alerts.yml", "deploy/prometheus/alerts.test.yml", "deploy/grafana/dashboards/fanmill.json",
    ] {
      let named = metrics(in: try text(path))
      #expect(named.count > 10)
      #expect(named.subtracting(known) == [], "\(path)")
    }
  }

  @Test func everyAlertIsExplainedAndTestedBothWays() throws {
    let alerts = try text("deploy/prometheus/alerts.yml").matches(of: #/- alert: (\w+)/#).map { String($0.1) }
    #expect(alerts.count > 15 && Set(alerts).count == alerts.count)
    let rules = try text("deploy/prometheus/alerts.yml")
    let tests = try text("deploy/prometheus/alerts.test.yml")
    let page = try text("docs/alerts.md")
    for alert in alerts {
      #expect(tests.contains("name: \(alert) fires\n") && tests.contains("name: \(alert) does not fire\n"))
      #expect(page.contains("\n## \(alert)\n"))
      #expect(rules.contains("runbook: docs/alerts.md#\(alert.lowercased())\n"))
    }
    #expect(page.matches(of: #/\n## (\w+)/#).map { String($0.1) } == alerts)
  }

  @Test func theDashboardIsOne() throws {
    let board = try #require(
      try JSONSerialization.jsonObject(with: Data(text("deploy/grafana/dashboards/fanmill.json").utf8))
        as? [String: Any])
    let panels = try #require(board["panels"] as? [[String: Any]])
    #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count)
    let uids = panels.compactMap { ($0["datasource"] as? [String: String])?["uid"] }
    #expect(try text("deploy/grafana/provisioning/datasources/prometheus.yml").contains("uid: fanmill\n"))
    #expect(Set(uids) == ["fanmill"])
  }
}
