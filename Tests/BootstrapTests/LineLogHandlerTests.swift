import Foundation
import Glibc
import Locking
import Logging
import Testing

@testable import Bootstrap

struct LineLogHandlerTests {
  private let lines = Locked<[String]>([])

  private func logger(_ format: LogFormat, secrets: [String] = []) -> Logger {
    Logger(label: "worker") { label in
      LineLogHandler(
        label: label, format: format, level: .info, secrets: secrets,
        now: { timespec(tv_sec: 1_767_323_045, tv_nsec: 67_900_000) },
        write: { [lines] line in lines.withLock { $0.append(line) } })
    }
  }

  @Test func textIsOneLine() {
    var logger = logger(.text)
    logger[metadataKey: "queue"] = "fanout"
    logger.info("took\nover", metadata: ["note": "two words", "empty": "", "said": "\"yes\""])
    logger.debug("not this")
    #expect(
      lines.withLock { $0 } == [
        "2026-01-02T03:04:05.067Z info worker: took\\nover empty=\"\" note=\"two words\" queue=fanout said=\"\\\"yes\\\"\"\n"
      ])
  }

  @Test func jsonIsOneObject() throws {
    logger(.json).warning("a \"b\" \\ \u{1}", metadata: ["time": "noon", "list": ["x", "y"]])
    let line = try #require(lines.withLock { $0.first })
    #expect(line.filter { $0 == "\n" }.count == 1)
    let decoded = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
    #expect(
      decoded == [
        "time": "2026-01-02T03:04:05.067Z", "level": "warning", "logger": "worker", "message": "a \"b\" \\ \u{1}",
        "_time": "noon", "list": "[\"x\", \"y\"]",
      ])
  }

  @Test(arguments: LogFormat.allCases)
  func secretsBecomeStars(format: LogFormat) throws {
    let logger = logger(format, secrets: ["hunter2", "hunter2-longer", "abc"])
    logger.error("no way in with hunter2-longer", metadata: ["url": "redis://:hunter2@h", "nested": ["k": "hunter2"]])
    let line = try #require(lines.withLock { $0.first })
    #expect(!line.contains("hunter2") && !line.contains("longer"))
    #expect(line.contains("redis://:***@h"))
  }
}
