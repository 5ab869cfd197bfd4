import Foundation
import Jobs
import JobsTestSupport
import Testing

@Suite struct PayloadTests {
  struct Mail: Job {
    struct Part: Codable, Hashable {
      var size: UInt8
    }
    enum Color: String, Codable { case red }
    static let kind: JobKind = "test.mail"
    static let payloadVersion = 3
    var to: String
    var when: Date
    var parts: [Part]
    var color: Color?
    var weight: Double?
    var isUrgent: Bool?
  }

  private var registry: JobRegistry<InMemoryLedger> {
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Mail.self) { _, _ in }
    return registry
  }

  private func problem(_ json: String) -> String {
    guard let entry = registry.entries[Mail.kind] else { return "no entry" }
    do {
      try entry.validate(Array(json.utf8), 3)
      return "none"
    } catch let error as PayloadError {
      return error.problem
    } catch {
      return "another error: \(error)"
    }
  }

  @Test func aPayloadComesBack() throws {
    let mail = Mail(
      to: "größe/\"x\"\n", when: Date(timeIntervalSince1970: 1_700_000_000), parts: [.init(size: 7)], color: .red)
    let record = try JobRecord(mail, isDurable: true)
    #expect(record.version == 3)
    #expect(record.kind == "test.mail")
    let back = try Mail(payload: record.payload, version: 3)
    #expect(back.to == mail.to && back.when == mail.when && back.parts == mail.parts && back.color == .red)
  }

  @Test func theFieldIsNamedAndItsValueIsNot() {
    let good = #""to":"a","when":"2026-01-01T00:00:00Z","parts":[]"#
    #expect(problem("{\(good)}") == "none")
    #expect(problem("{\"when\":\"2026-01-01T00:00:00Z\",\"parts\":[]}") == "field 'to' is missing")
    #expect(problem(good).hasPrefix("it is not valid JSON"))
    #expect(problem("").hasPrefix("it is not valid JSON"))
    #expect(problem("{\(good),\"weight\":1e999}").contains("a number in it does not fit its field"))
    #expect(problem("[]") == "field '(the whole payload)' is not an object")
    #expect(problem("{\"to\":7,\"when\":\"2026-01-01T00:00:00Z\",\"parts\":[]}") == "field 'to' is not a string")
    #expect(problem("{\"to\":null,\"when\":\"2026-01-01T00:00:00Z\",\"parts\":[]}").contains("'to' is null"))
    #expect(problem("{\(good),\"isUrgent\":\"secret\"}") == "field 'isUrgent' is not true or false")
    #expect(problem("{\(good),\"weight\":\"secret\"}") == "field 'weight' is not a number")
    for json in [
      #"{"to":"a","when":"secret","parts":[]}"#, #"{"to":"a","when":"2026-01-01T00:00:00Z","parts":{"secret":1}}"#,
      #"{"to":"a","when":"2026-01-01T00:00:00Z","parts":[{"size":1},{"size":"secret"}]}"#,
      #"{"to":"a","when":"2026-01-01T00:00:00Z","parts":[],"color":"secret"}"#,
    ] {
      let problem = problem(json)
      #expect(problem.hasPrefix("field '"), "\(problem)")
      #expect(!problem.contains("secret"), "\(problem)")
    }
    #expect(
      problem(#"{"to":"a","when":"2026-01-01T00:00:00Z","parts":[{"size":1},{"size":"x"}]}"#)
        == "field 'parts.1.size' is not an integer")
  }

  @Test func theRegistryKnowsWhatItWasTold() {
    struct Other: Job {
      static let kind: JobKind = "test.other"
      static let queue: QueueName = "slow"
    }
    var registry = registry
    registry.registerBatch(Other.self, upTo: 5) { _, _ in }
    #expect(registry.versions == ["test.mail": 3, "test.other": 1])
    #expect(registry.queues == ["default", "slow"])
    #expect(registry.entries["test.other"]?.timeout == .seconds(300))
  }

  @Test func whatCouldNeverBePushedIsRefusedWhenItIsAskedFor() async throws {
    let stage = Stage()
    let bad = [
      JobRecord.test(kind: ""), .test(kind: JobKind(rawValue: String(repeating: "k", count: 256))),
      .test(kind: "a\u{0}"), .test(queue: "no spaces"), .test(queue: "{x}"), .test(queue: ""), .test(version: -1),
      .test(version: 65_536), .test(uniqueKey: "\u{0}"),
    ]
    for record in bad {
      await #expect(throws: InvalidJob.self) {
        try await stage.client.transaction { try await $0.add([.test(), record]) }
      }
    }
    #expect(stage.ledger.owedCount == 0)
    await #expect(throws: InvalidJob.self) {
      try await stage.client.push(Numbered(number: 1), options: JobOptions(queue: "a b"))
    }
    await #expect(throws: InvalidJob.self) {
      try await stage.client.push([Numbered(number: 1)], options: JobOptions(queue: "a b"))
    }
    #expect(await stage.statistics() == QueueStatistics(ready: 0, claimed: 0, delayed: 0, workers: 0))
  }

  @Test func anErrorsTextIsShortAndWithoutZeroBytes() {
    let failure = JobFailure(attempt: 1, at: 0, error: "a\u{0}b" + String(repeating: "ß", count: 5000), worker: "w")
    #expect(failure.error.utf8.count <= 2003)
    #expect(failure.error.hasPrefix("abß"))
  }
}
