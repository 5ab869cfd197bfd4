import Foundation
import Testing

@testable import Bootstrap

struct DocumentationTests {
  @Test func everySettingIsDocumentedAsItIs() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/settings.md"), encoding: .utf8)
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
    #expect(rows.count == Setting.all.count)
    for (row, setting) in zip(rows, Setting.all) {
      let fallback = setting.fallback.map { "`\($0)`" } ?? ""
      #expect(row.hasPrefix("| `\(setting.path)` | `\(setting.variable)` | \(fallback) | \(setting.summary)"))
      #expect(row.contains("; secret") == setting.isSecret)
    }
  }
}
