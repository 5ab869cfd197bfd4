import Foundation
import Testing

/// The articles' code is built and run by the tests: every Swift block appears, line for line, in a file of examples.
@Suite struct ArticleTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL

  private static func lines(_ text: some StringProtocol) -> [String] {
    text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  private static func files(in folder: String, _ ending: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: root.appending(path: folder), includingPropertiesForKeys: nil)
      .filter { $0.lastPathComponent.hasSuffix(ending) }.sorted { $0.path < $1.path }
  }

  @Test func everySampleIsBuiltAndRun() throws {
    let examples = try
      (Self.files(in: "Tests/DurableJobsTests/Documentation", "Examples.swift")
      + Self.files(in: "Tests/ConformanceTests", "Examples.swift")
      + Self.files(in: "Tests/ConformanceTests", "ConformanceTests.swift"))
      .map { "\n" + Self.lines(try String(contentsOf: $0, encoding: .utf8)).joined(separator: "\n") + "\n" }
    var samples = 0
    for article in try Self.files(in: "Sources/DurableJobs/DurableJobs.docc", ".md")
      + Self.files(in: "Sources/DurableJobsTesting/DurableJobsTesting.docc", ".md") + Self.files(in: "", "README.md")
    {
      let text = try String(contentsOf: article, encoding: .utf8)
      for block in text.components(separatedBy: "```swift\n").dropFirst() {
        let sample = Self.lines(block.components(separatedBy: "\n```").first ?? "")
        let isThere = examples.contains { $0.contains("\n" + sample.joined(separator: "\n") + "\n") }
        #expect(
          isThere, "\(article.lastPathComponent): no file of examples has '\(sample.first ?? "")' and what follows it")
        samples += 1
      }
    }
    #expect(samples > 15)
  }

  /// Every test that docs/promises.md names exists in the file that it links to.
  @Test func everyProofOfAPromiseExists() throws {
    let page = try String(contentsOf: Self.root.appending(path: "docs/promises.md"), encoding: .utf8)
    var files: [String: String] = [:]
    for match in page.matches(of: /\n\[([\w-]+)\]: \.\.\/(\S+)/) {
      files[String(match.1)] = try String(contentsOf: Self.root.appending(path: String(match.2)), encoding: .utf8)
    }
    let tests = page.matches(of: /\[`\w+\.(\w+)`\]\[([\w-]+)\]/)
    for test in tests {
      #expect(files[String(test.2)]?.contains("func \(test.1)(") == true, "\(test.0)")
    }
    let checks = page.matches(of: /\["([^"]+)"\]\[([\w-]+)\]/)
    for check in checks {
      let name = check.1.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(files[String(check.2)]?.contains("\"\(name)\"") == true, "\(check.0)")
    }
    #expect(tests.count > 80 && checks.count > 20)
  }
}
