import Cryptography
import DurableJobs
import Foundation
import HTTPTypes
import LibPQClient
import Locking
import Logging
import ProgramTestSupport
import TestSupport
import Testing

@testable import Bootstrap
@testable import DurableJobsAdmin

@Suite(.timeLimit(.minutes(5))) struct AlarmTests {
  private static let start = Date(timeIntervalSince1970: 1_767_225_600)

  private func reading(_ waiting: Double?, running: Double? = nil, isPaused: Bool = false) -> AlarmBook.Reading {
    AlarmBook.Reading(queue: "fanout", waiting: waiting, running: running, isPaused: isPaused)
  }

  @Test func anAlarmIsGivenOnceAndOnceWhenItIsOver() async throws {
    try await TestStack.with { stack in
      let book = AlarmBook(stack.database, limits: try AlarmLimits("*:waiting=10s,running=60s"), isDelivered: false)
      var told: [String] = []
      for (second, waiting) in [0, 9.9, 10.1, 20, 30, 9, 8.1, 8.0, 0, nil, 11, 0].enumerated() {
        for alarm in try await book.judge([reading(waiting)], at: Self.start + Double(second)) {
          told.append("\(second) \(alarm.closedAt == nil ? "opened" : "closed") \(alarm.seconds)")
        }
      }
      // It closes a fifth below its limit, so that a queue at its limit does not flap.
      #expect(told == ["2 opened 10.1", "7 closed 10.1", "10 opened 11.0", "11 closed 11.0"])
      #expect(try await book.open().isEmpty)
      #expect(try await book.undelivered() == nil)
    }
  }

  @Test func waitingAndRunningAreTwoAlarmsAndAPausedQueueMayWait() async throws {
    try await TestStack.with { stack in
      let book = AlarmBook(stack.database, limits: try AlarmLimits("*:waiting=10s,running=60s"), isDelivered: false)
      let paused = try await book.judge([reading(99, running: 99, isPaused: true)], at: Self.start)
      #expect(paused.map(\.concern) == [.running])
      #expect(try await book.judge([reading(99, running: 99)], at: Self.start).map(\.concern) == [.waiting])
      #expect(try await book.judge([], at: Self.start).isEmpty)
      #expect(try await book.open().map(\.concern) == [.running, .waiting])
      // Removing the limit closes its alarm.
      let without = AlarmBook(
        stack.database, limits: try AlarmLimits("*:waiting=off,running=60s"), isDelivered: false)
      #expect(try await without.judge([reading(99, running: 99)], at: Self.start).map(\.concern) == [.waiting])
      #expect(try await without.open().map(\.concern) == [.running])
    }
  }

  @Test func ofManyWhoLookOneTells() async throws {
    try await TestStack.with { stack in
      let limits = try AlarmLimits("*:waiting=10s")
      for (waiting, isOver) in [(99.0, false), (0.0, true)] {
        let told = try await withThrowingTaskGroup(of: [Alarm].self) { group in
          for _ in 0..<12 {
            group.addTask {
              // A separate process, as far as the table is concerned.
              let book = AlarmBook(stack.database, limits: limits, isDelivered: true)
              return try await book.judge([reading(waiting)], at: Self.start)
            }
          }
          return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(told.count == 1)
        #expect(told.allSatisfy { ($0.closedAt != nil) == isOver })
      }
      #expect(try await stack.count("SELECT count(*) FROM alarms") == 1)
    }
  }

  // MARK: The webhook

  private struct Refused: Error {}

  /// Accepts messages, after refusing a given number.
  private final class Receiver: Sendable {
    let messages = Locked<[(request: HTTPRequest, body: [UInt8])]>([])
    let pauses = Locked<[Duration]>([])
    private let answers: Locked<[Int?]>

    init(answers: [Int?] = []) { self.answers = Locked(answers) }

    func post(_ request: HTTPRequest, _ body: [UInt8]) throws -> Int {
      let answer = answers.withLock { $0.isEmpty ? 204 : $0.removeFirst() }
      guard let answer else { throw Refused() }
      if answer < 300 { messages.withLock { $0.append((request, body)) } }
      return answer
    }

    func events() throws -> [[String: Any]] {
      try messages.withLock { $0 }.map {
        try #require(try JSONSerialization.jsonObject(with: Data($0.body)) as? [String: Any])
      }
    }
  }

  private func messenger(
    _ book: AlarmBook, _ receiver: Receiver, secret: String? = nil, logger: Logger = .quiet,
    now: @escaping @Sendable () -> Date = { start }
  ) throws -> AlarmMessenger {
    let webhook = try #require(AlarmWebhook(url: "https://h.example:8443/hook?token=x", secret: secret))
    return AlarmMessenger(
      book: book,
      deliver: { message in
        let (request, body) = try webhook.request(message)
        let status = try receiver.post(request, body)
        guard 200..<300 ~= status else { throw AlarmPost.Refused(status: status) }
      }, pause: { pause in receiver.pauses.withLock { $0.append(pause) } }, now: now, logger: logger)
  }

  /// Delivers all pending messages.
  private func tellAll(_ messenger: AlarmMessenger) async throws {
    let (changes, end) = AsyncStream.makeStream(of: Void.self)
    end.finish()
    try await messenger.run(changes)
  }

  @Test func theWebhookGetsEachMessageInOrderAndOnce() async throws {
    try await TestStack.with { stack in
      let book = AlarmBook(stack.database, limits: try AlarmLimits("*:waiting=10s"), isDelivered: true)
      let receiver = Receiver(answers: [500, nil, 204, 404])
      let messenger = try messenger(book, receiver, secret: "a secret of the tests")
      let alarm = try #require(try await book.judge([reading(12.5)], at: Self.start).first)
      // It opens and closes before any delivery: both messages are sent.
      _ = try await book.judge([reading(0)], at: Self.start + 60)
      try await tellAll(messenger)
      try await tellAll(messenger)
      #expect(receiver.pauses.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(1)])
      let events = try receiver.events()
      try #require(events.map { $0["event"] as? String } == ["opened", "closed"])
      #expect(events.allSatisfy { $0["id"] as? String == alarm.id.description && $0["queue"] as? String == "fanout" })
      #expect(events[0]["what"] as? String == "waiting" && events[0]["limit"] as? Double == 10)
      #expect(events[0]["seconds"] as? Double == 12.5)
      #expect(events[0]["openedAt"] as? String == "2026-01-01T00:00:00.000Z" && events[0]["closedAt"] == nil)
      #expect(events[1]["closedAt"] as? String == "2026-01-01T00:01:00.000Z")

      let (request, body) = try #require(receiver.messages.withLock { $0.first })
      #expect(request.method == .post && request.scheme == "https" && request.authority == "h.example:8443")
      #expect(request.path == "/hook?token=x")
      let trace = try #require(request.headerFields[.init("traceparent")!].flatMap { TraceContext(traceparent: $0) })
      #expect(trace.id == alarm.trace)
      let signature = try #require(request.headerFields[.init("Fanmill-Signature")!])
      #expect(signature == "sha256=" + HMACSHA256(key: "a secret of the tests".utf8).code(for: body).hexadecimal)
    }
  }

  @Test func whatTheWebhookRefusesIsLoggedWithoutItsSecrets() async throws {
    try await TestStack.with { stack in
      let book = AlarmBook(stack.database, limits: try AlarmLimits("*:waiting=10s"), isDelivered: true)
      let alarm = try #require(try await book.judge([reading(99)], at: Self.start).first)
      let log = Locked<[String]>([])
      let logger = Logger(label: "test") { _ in LogRecorder(log) }
      try await tellAll(try messenger(book, Receiver(answers: [500, nil]), secret: "of the tests", logger: logger))
      let lines = log.withLock { $0 }
      #expect(lines.count == 2 && lines.allSatisfy { $0.contains("fanout") && $0.contains("\(alarm.id)") })
      #expect(lines.first?.contains("it answered with 500") == true)
      // A webhook's path is as secret as a password for its channel.
      #expect(!lines.contains { $0.contains("token=x") || $0.contains("/hook") || $0.contains("of the tests") })
    }
  }

  @Test func aRestartSendsNothingAgain() async throws {
    try await TestStack.with { stack in
      let limits = try AlarmLimits("*:waiting=10s")
      let receiver = Receiver()
      for _ in 0..<3 {
        let book = AlarmBook(stack.database, limits: limits, isDelivered: true)
        _ = try await book.judge([reading(99)], at: Self.start)
        try await tellAll(try messenger(book, receiver))
      }
      #expect(try receiver.events().map { $0["event"] as? String } == ["opened"])
      #expect(
        try receiver.messages.withLock { try #require($0.first) }.request.headerFields[.init("Fanmill-Signature")!]
          == nil)
    }
  }

  @Test func aMessageThatIsNotTakenForADayIsGivenUp() async throws {
    try await TestStack.with { stack in
      let book = AlarmBook(stack.database, limits: try AlarmLimits("*:waiting=10s"), isDelivered: true)
      _ = try await book.judge([reading(99)], at: Self.start)
      let receiver = Receiver(answers: Array(repeating: nil, count: 10))
      let hours = Locked(0.0)
      try await tellAll(
        try messenger(book, receiver) {
          hours.withLock { hours in
            hours += 5
            return Self.start + hours * 3600
          }
        })
      #expect(receiver.pauses.withLock { $0.count } == 4)
      #expect(try await book.undelivered() == nil)
    }
  }

  @Test(arguments: ["", "example.org/hook", "ftp://h/x", "https://", "https://user:pass@h/x"])
  func whatIsNoURLIsRefused(url: String) { #expect(AlarmWebhook(url: url) == nil) }

  @Test func whatWasOverLongAgoIsForgotten() async throws {
    try await TestStack.with { stack in
      let book = AlarmBook(stack.database, limits: try AlarmLimits("*:waiting=10s"), isDelivered: false)
      _ = try await book.judge([reading(99)], at: Self.start)
      _ = try await book.judge([reading(0)], at: Self.start + 1)
      _ = try await book.judge([reading(99)], at: Self.start + 2)
      try await book.forget(before: Self.start + 1)
      #expect(try await stack.count("SELECT count(*) FROM alarms") == 2)
      try await book.forget(before: Self.start + 100)
      #expect(try await stack.count("SELECT count(*) FROM alarms") == 1)
    }
  }
}
