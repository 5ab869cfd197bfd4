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

@Suite("The overview") struct OverviewTests {
  @Test("All is well where it is, and what is not is named with what to do")
  func verdict() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      try await eventually("the doctor has looked") { try await one.get("/admin").contains("All is well") }
      try await stage.stack.pool.execute("INSERT INTO queue_pauses (queue, paused_by) VALUES ('fanout', 'bob')")
      let paused = try await one.get("/admin")
      #expect(paused.contains("One thing needs attention") && paused.contains("class=\"verdict warn\""))
      try await stage.stack.pool.execute(
        """
        INSERT INTO alarms (id, queue, what, limit_seconds, seconds, opened_at, opening_told, closing_told)
        VALUES (\(PostgresUUID(JobID.next())), 'fanout', 'waiting', 30, 31, now() - interval '2 minutes', true, true)
        """)
      let alarmed = try await one.get("/admin")
      #expect(
        alarmed.contains("Something is wrong") && alarmed.contains("its oldest waiting job passed its limit of 30 s"))
    }
  }

  @Test("A finding of the doctor's stands there with its advice, the worst first")
  func findings() throws {
    let findings = try JSONDecoder().decode(
      [Finding].self,
      from: Data(
        """
        [{"name":"a","status":"ok","detail":"fine"},{"name":"dead letters","status":"warn","detail":"3","advice":"look"},
         {"name":"Redis","status":"fail","detail":"gone","advice":"start it"}]
        """.utf8))
    let look = HealthBoard.Checkup(findings: findings, at: Date())
    let attention = OverviewReader.attention(look, [], [], [])
    #expect(attention.map(\.name) == ["Redis", "dead letters"])
    #expect(attention.map(\.href) == [nil, "dead"])
    #expect(OverviewReader.verdict(attention, isChecked: true) == ("Something is wrong", "bad"))
    #expect(OverviewReader.verdict([], isChecked: false) == ("Checking…", "warn"))
  }

  @Test("Old findings do not say how things are")
  func oldFindings() async throws {
    let now = Locked(Date())
    let board = HealthBoard(now: { now.withLock { $0 } }, examine: { [] })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await board.run() }
      try await eventually("the doctor has looked") { board.latest() != nil }
      group.cancelAll()
    }
    now.withLock { $0 += 59 }
    #expect(board.latest() != nil)
    now.withLock { $0 += 2 }
    #expect(board.latest() == nil)
  }

  /// As many durations of one length.
  private static func histogram(_ duration: Duration, count: Int) -> [Int64] {
    var histogram = DurationHistogram()
    histogram.add(duration)
    return histogram.counts.map { Int64($0 * count) }
  }

  @Test("What was done minute by minute is drawn, and stands in a table as well")
  func charts() async throws {
    try await Stage.with { stage in
      try await stage.stack.pool.execute(
        """
        INSERT INTO jobs.job_minutes (minute, queue, kind, completed, failed, dead, run_ms, wait_ms, run_histogram, wait_histogram)
        SELECT date_trunc('minute', now()) - n * interval '1 minute', 'fanout', 'posts.fan-out', 120, 6, 3, 12900, 1290,
          \(Self.histogram(.milliseconds(100), count: 129)), \(Self.histogram(.milliseconds(10), count: 129))
        FROM generate_series(1, 30) n
        """)
      // The chart of a week comes from the hourly counts.
      try await stage.stack.pool.execute(
        """
        INSERT INTO jobs.job_hours (hour, queue, kind, completed, failed, dead, run_ms, wait_ms, run_histogram, wait_histogram)
        VALUES (date_trunc('hour', now()), 'fanout', 'posts.fan-out', 3600, 180, 90, 387000, 38700,
          \(Self.histogram(.milliseconds(100), count: 3870)), \(Self.histogram(.milliseconds(10), count: 3870)))
        """)
      let one = try await stage.signIn()
      for window in ["hour", "day", "week", "nonsense"] {
        let page = try await one.get("/admin?window=\(window)")
        #expect(page.contains("3,600") && page.contains("96 ms") && page.contains("10 ms"), "\(window)")
        #expect(page.contains("<svg class=\"chart\"") && page.contains("<table class=\"small\">"), "\(window)")
      }
      #expect(try await one.get("/admin/queues/fanout").contains("96 ms"))
      #expect(try await one.get("/admin/queues/default").contains("Nothing in this period."))
    }
  }

  @Test("The stream brings the parts, and ends with the session")
  func live() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      let response = try await stage.open("/admin?window=day", cookie: one.cookie)
      #expect(response.status == .ok && response.headers[.contentType] == "text/event-stream; charset=utf-8")
      let (parts, part) = AsyncStream.makeStream(of: String.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await response.body.write(StreamCollector(part: part))
          part.finish()
        }
        var events = 0
        for await text in parts where text.hasPrefix("event: page\n") {
          #expect(text.contains("data: <section id=\"verdict\" data-part") && text.hasSuffix("\n\n"))
          for line in text.dropLast(2).split(separator: "\n").dropFirst() { #expect(line.hasPrefix("data: ")) }
          events += 1
          if events == 1 { #expect(try await one.post("/admin/sign-out").status == 303) }
        }
        #expect(events >= 1)
        try await group.waitForAll()
      }
    }
  }

  @Test("Every page brings its parts while it is open, with what its visitor may do")
  func everyPage() async throws {
    try await Stage.with { stage in
      let id = try #require(try await stage.deadLetter(1).first)
      let (one, reader) = (try await stage.signIn(), try await stage.signIn(Stage.readToken))
      for path in [
        "", "/queues", "/queues/fanout", "/jobs", "/jobs/\(id)", "/dead", "/workers", "/schedules", "/actions",
        "/accounts", "/fan-outs", "/quota", "/rankings", "/reports", "/takedowns", "/webhooks",
      ] {
        for visitor in [one, reader] {
          let update = try await stage.update("/admin" + path, cookie: visitor.cookie)
          #expect(update.contains("data-part") && !update.contains("<html"), "\(path)")
          #expect(visitor.cookie == one.cookie || !update.contains("method=\"post\""), "\(path)")
        }
      }
      // A search is not repeated, nor is the list of everybody's pictures.
      #expect(try await !stage.update("/admin/pictures", cookie: one.cookie).contains("data-part"))
      #expect(try await !stage.update("/admin/dead?text=x", cookie: one.cookie).contains("id=\"rows\" data-part"))
      #expect(try await stage.update("/admin/dead", cookie: one.cookie).contains("id=\"rows\" data-part"))
      // A page that is not there is refused, and not streamed.
      let gone = try await stage.send(
        .get, "/admin/queues/nothing", cookie: one.cookie, headers: [.accept: "text/html"])
      #expect(gone.status == 404)
    }
  }

  @Test("What has not changed is not sent again")
  func unchanged() async throws {
    try await Stage.with(isRunning: false) { stage in
      let streams = LiveStreams(clock: ContinuousClock())
      let texts = Locked(["one", "one", "two"])
      let response = try streams.open(stage.context {}) {
        texts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      }
      let (parts, part) = AsyncStream.makeStream(of: String.self)
      try await response.body.write(StreamCollector(part: part))
      part.finish()
      var sent: [String] = []
      for await text in parts { sent.append(text) }
      #expect(sent.dropFirst() == ["event: page\ndata: one\n\n", ": same\n\n", "event: page\ndata: two\n\n"])
    }
  }

  @Test("A browser that does not read is cut off: its place is free again")
  func deaf() async throws {
    try await Stage.with(isRunning: false) { stage in
      let streams = LiveStreams(clock: ContinuousClock(), patience: .milliseconds(50))
      let (hungUp, hangUp) = AsyncStream.makeStream(of: Void.self)
      let context = stage.context { hangUp.finish() }
      let response = try streams.open(context) { "a part" }
      // The first event is never read; only closing the connection ends the write.
      await #expect(throws: CancellationError.self) {
        try await response.body.write(StuckWriter(hungUp: hungUp))
      }
      #expect(streams.open == 0)
    }
  }

  @Test("A line break in an event's data begins another line of it")
  func event() {
    #expect(LiveStreams.event("page", "a\n\nb") == "event: page\ndata: a\ndata: \ndata: b\n\n")
  }
}

/// Accepts the start of the response, and then nothing until the connection ends.
private struct StuckWriter: ResponseBodyWriter {
  let hungUp: AsyncStream<Void>

  func write(_ buffer: ByteBuffer) async throws {
    guard String(decoding: buffer.readableBytesView, as: UTF8.self).hasPrefix("event") else { return }
    for await _ in hungUp {}
    throw CancellationError()
  }
  func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

struct StreamCollector: ResponseBodyWriter {
  let part: AsyncStream<String>.Continuation

  func write(_ buffer: ByteBuffer) async throws {
    part.yield(String(decoding: buffer.readableBytesView, as: UTF8.self))
  }
  func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
