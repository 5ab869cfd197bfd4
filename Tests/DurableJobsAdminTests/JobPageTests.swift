import DurableJobs
import Foundation
import LibPQClient
import ProgramTestSupport
import SocialAdmin
import TestSupport
import Testing

@testable import DurableJobsAdmin
@testable import DurableJobsPostgres

/// Paged job lists.
@Suite("Pages of jobs", .timeLimit(.minutes(5)))
struct JobPageTests {
  /// Reads all pages.
  private func all(_ filter: JobFilter, on database: JobsDatabase) async throws -> (
    items: [JobSummary], pages: [JobPage]
  ) {
    var filter = filter
    var pages: [JobPage] = []
    repeat {
      let page = try await JobAdmin.page(filter, on: database)
      pages.append(page)
      filter.before = page.next
      try #require(pages.count < 1000, "the last page never comes")
    } while filter.before != nil
    return (pages.flatMap(\.items), pages)
  }

  /// Adds a pending job for each of `numbers`, spread over three queues and two kinds, a millisecond apart.
  private func owe(_ numbers: Range<Int>, on stack: TestStack) async throws -> [JobID] {
    let start = Int64(1_700_000_000_000)
    let ids = numbers.map { JobID(high: JobID.min(atMilliseconds: start + Int64($0)).high, low: UInt64($0)) }
    let records = zip(numbers, ids).map { number, id in
      JobRecord(
        id: id, kind: number % 2 == 0 ? "even" : "odd", queue: ["a", "b", "c"][number % 3],
        payload: Array(#"{"number":\#(number),"text":"Grüße 100%_"}"#.utf8), isDurable: true)
    }
    try await stack.ledger.withTransaction { _ = try await stack.ledger.add(records, in: $0) }
    return ids
  }

  @Test("Pages hold every job once, the newest first, whatever queue it is in")
  func everyJobOnce() async throws {
    try await TestStack.with { stack in
      let ids = try await owe(0..<250, on: stack)
      for limit in [1, 7, 50, 250, 1000] {
        let (items, pages) = try await all(JobFilter(limit: limit), on: stack.database)
        #expect(items.map(\.id) == ids.reversed().map(\.description), "limit \(limit)")
        #expect(pages.dropLast().allSatisfy { $0.items.count == limit && $0.searched == nil })
      }
      let one = try await all(JobFilter(queue: "b", limit: 10), on: stack.database).items
      #expect(one.map(\.id) == ids.enumerated().filter { $0.offset % 3 == 1 }.reversed().map(\.element.description))
      #expect(try await all(JobFilter(queue: "nobody's"), on: stack.database).items.isEmpty)
    }
  }

  @Test("Kind, text and time let through what fits")
  func filters() async throws {
    try await TestStack.with { stack in
      let ids = try await owe(0..<60, on: stack)
      func found(_ filter: JobFilter) async throws -> [Int] {
        try await all(filter, on: stack.database).items.map { item in
          try #require(ids.firstIndex { $0.description == item.id })
        }
      }
      #expect(try await found(JobFilter(kind: "odd", limit: 7)) == (0..<60).filter { $0 % 2 == 1 }.reversed())
      #expect(try await found(JobFilter(text: #""number":5,"#)) == [5])
      #expect(try await found(JobFilter(text: "100%_", limit: 9)).count == 60, "no sign has a meaning of its own")
      #expect(try await found(JobFilter(text: "grüße")).isEmpty, "letter for letter")
      let start = Date(timeIntervalSince1970: 1_700_000_000)
      let (since, until) = (start.addingTimeInterval(0.010), start.addingTimeInterval(0.020))
      #expect(try await found(JobFilter(since: since, until: until)) == (10..<20).reversed())
      #expect(
        try await found(JobFilter(kind: "even", queue: "a", since: since))
          == (10..<60).filter { $0 % 6 == 0 }.reversed())
    }
  }

  @Test("A search reads payloads that are too large to come with their rows")
  func largePayloads() async throws {
    try await TestStack.with { stack in
      let text = String(repeating: "x", count: 100_000)
      let records = ["needle", "hay"].map { word in
        JobRecord(kind: "large", queue: "a", payload: Array(#"{"text":"\#(text)\#(word)"}"#.utf8), isDurable: true)
      }
      try await stack.ledger.withTransaction { _ = try await stack.ledger.add(records, in: $0) }
      func found(_ text: String) async throws -> [String] {
        try await all(JobFilter(text: text, limit: 10), on: stack.database).items.map(\.id)
      }
      #expect(try await found("xneedle") == [records[0].id.description])
      #expect(try await found("xhay") == [records[1].id.description])
      #expect(try await found("xstraw").isEmpty)
    }
  }

  @Test("A filter without an index looks at a bounded number of rows and says where it goes on")
  func bounded() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute(
        """
        INSERT INTO jobs (queue, id, kind, version, payload)
        SELECT 'q', lpad(to_hex(i), 32, '0')::uuid, CASE WHEN i IN (10, 30000) THEN 'rare' ELSE 'usual' END, 1, '{}'
        FROM generate_series(1, 45000) i
        """)
      let (items, pages) = try await all(JobFilter(kind: "rare", limit: 10), on: stack.database)
      #expect(items.count == 2)
      #expect(pages.count == 5 && pages.dropLast().allSatisfy { $0.searched == 10_000 && $0.next != nil })
      #expect(pages[1].items.count == 1, "the second page has the newer one")
      let (none, looks) = try await all(JobFilter(text: "nowhere"), on: stack.database)
      #expect(none.isEmpty && looks.count == 5)
    }
  }

  @Test("A page that is not full says how many jobs it looked at, over queues of which one was enough and one has few")
  func searchedOverQueues() async throws {
    try await TestStack.with { stack in
      // Newest first: 5,000 that do not match, 3 that do not, 100 that do.
      try await stack.pool.execute(
        """
        INSERT INTO jobs (queue, id, kind, version, payload)
        SELECT CASE WHEN i <= 100 THEN 'enough' WHEN i <= 103 THEN 'few'
          ELSE 'many' END, lpad(to_hex(i), 32, '0')::uuid,
          CASE WHEN i <= 100 THEN 'sought' ELSE 'other' END, 1, '{}'
        FROM generate_series(1, 5103) i
        """)
      let (items, pages) = try await all(JobFilter(kind: "sought", limit: 10), on: stack.database)
      #expect(items.count == 100 && Set(items.map(\.id)).count == 100)
      // A third of the budget of the 5,000, the three, and of the hundred a page of ten plus one.
      #expect(pages[0].items.isEmpty && pages[0].searched == 3333 + 3 + 11)
    }
  }

  @Test("Dead and ended jobs come the last to end first, many of one moment too")
  func deadAndEnded() async throws {
    try await TestStack.with { stack in
      // Seven at each moment, with times that need the full precision of microseconds.
      try await stack.pool.execute(
        """
        INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at, died_at)
        SELECT gen_random_uuid(), CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, CASE WHEN i % 5 = 0 THEN 'x' ELSE 'y' END,
          1, 1, '{"i":' || i || '}', 3, '[]', now(), timestamptz '2026-01-01 00:00:00.123457Z' + (i / 7) * interval '1 microsecond'
        FROM generate_series(0, 209) i
        """)
      let expected = try await stack.pool.query("SELECT id FROM dead_jobs ORDER BY died_at DESC, id DESC")
        .decode(PostgresUUID.self).map { JobID($0).description }
      for limit in [1, 10, 210, 500] {
        let found = try await all(JobFilter(state: .dead, limit: limit), on: stack.database).items
        #expect(found.map(\.id) == expected, "limit \(limit)")
      }
      #expect(try await all(JobFilter(state: .dead, kind: "x", limit: 8), on: stack.database).items.count == 42)
      #expect(try await all(JobFilter(state: .dead, queue: "a", limit: 8), on: stack.database).items.count == 105)
      #expect(
        try await all(JobFilter(state: .dead, kind: "x", queue: "a", limit: 8), on: stack.database).items.count == 21)
      #expect(try await all(JobFilter(state: .dead, text: #"{"i":7}"#), on: stack.database).items.count == 1)
      let moment = Date(timeIntervalSince1970: 1_767_225_600)
      #expect(
        try await all(JobFilter(state: .dead, since: moment.addingTimeInterval(1)), on: stack.database).items.isEmpty)
      #expect(try await all(JobFilter(state: .dead, until: moment), on: stack.database).items.isEmpty)
      #expect(
        try await all(JobFilter(state: .dead, since: moment, until: moment.addingTimeInterval(1)), on: stack.database)
          .items
          .count == 210)

      let admin = JobAdmin(stack.client, kinds: .app)
      #expect(try await admin.deleteDead(kind: "x", by: .tester) == 42)
      #expect(try await all(JobFilter(state: .deleted, limit: 5), on: stack.database).items.count == 42)
      #expect(try await all(JobFilter(state: .cancelled), on: stack.database).items.isEmpty)
      #expect(try await all(JobFilter(state: .dead, limit: 50), on: stack.database).items.count == 168)
    }
  }

  /// Jobs with a number, a secret and a note in their payloads; every third has no secret.
  private func fillWithSecrets(_ table: String, _ count: Int, on pool: PostgresPool) async throws {
    let columns = table == "jobs" ? "" : ", priority, attempts, failures, created_at, died_at"
    let values =
      table == "jobs"
      ? "" : ", 1, 3, '[]', now(), timestamptz '2026-01-01 00:00:00.123457Z' + (i / 7) * interval '1 microsecond'"
    try await pool.execute(
      PostgresQuery(
        unescaped: """
          INSERT INTO \(table) (queue, id, kind, version, payload\(columns))
          SELECT 'q', lpad(to_hex(i), 32, '0')::uuid, 'k', 1,
            CASE WHEN i % 3 = 0 THEN '{"number":' || i || ',"key":"blotted-out","note":"n' || i || '."}'
            ELSE '{"number":' || i || ',"accessTOKEN":["hunter2"],"note":"n' || i || '."}' END\(values)
          FROM generate_series(1, \(count)) i
          """))
  }

  @Test(
    "A search finds what is shown of a payload, on every page, and tells nothing of what is masked",
    arguments: [false, true])
  func masked(dead: Bool) async throws {
    try await TestStack.with { stack in
      try await fillWithSecrets(dead ? "dead_jobs" : "jobs", 12_000, on: stack.pool)
      func filter(_ text: String, limit: Int = 50) -> JobFilter {
        var filter = JobFilter(state: dead ? .dead : nil, text: text, limit: limit)
        filter.blotted = ["blotted-out"]
        return filter
      }
      func numbers(_ filter: JobFilter) async throws -> [Int?] {
        try await all(filter, on: stack.database).items.map { Int($0.id.suffix(8), radix: 16) }
      }
      #expect(try await numbers(filter(#""n7.""#)) == [7])
      #expect(try await numbers(filter(#""n9.""#)) == [9])
      // After a masked value, and in more than one batch of rows.
      let expected = (1...12_000).filter { $0 % 3 != 0 && $0 % 10 == 1 }.reversed().map(Optional.some)
      for limit in [13, 5000] {
        #expect(try await numbers(filter(#"accessTOKEN":"••••••","note":"n"#, limit: limit)).count == 8000)
        #expect(try await numbers(filter(#"1.""#, limit: limit)).filter { ($0 ?? 0) % 3 != 0 } == expected)
      }
      let nothing = try await JobAdmin.page(filter("nowhere"), on: stack.database)
      #expect(nothing.items.isEmpty && nothing.searched == 10_000)
      for probe in ["hunter2", "hun", #"["h"#, #"2"]"#, #"[""#, "blotted-out", "blot", #"key":"b"#, #"out","no"#] {
        let page = try await JobAdmin.page(filter(probe), on: stack.database)
        #expect(
          page.items == nothing.items && page.next == nothing.next && page.searched == nothing.searched, "\(probe)")
      }
      // Text that is also visible elsewhere is found only there.
      #expect(try await numbers(filter("u", limit: 5000)).count == 12_000, "in `number`")
    }
  }

  @Test("Of a job that runs, too, what is masked is not found")
  func maskedWhereItRuns() async throws {
    try await TestStack.with { stack in
      try await fillWithSecrets("jobs", 3, on: stack.pool)
      try await stack.pool.execute(
        """
        INSERT INTO workers (name, host, pid, version, started_at, state, queues, running)
        SELECT 'w', 'h', 1, '1', now(), 'running', '[]', jsonb_agg(jsonb_build_object('id', id, 'queue', queue))
          FROM jobs
        """)
      for (text, count) in [("note", 3), ("n2.", 1), ("TOKEN", 2), ("hunter", 0)] {
        let page = try await JobAdmin.page(JobFilter(state: .running, text: text), on: stack.database)
        #expect(page.items.count == count, "\(text)")
      }
    }
  }

  @Test("Whatever is masked of a payload, Postgres hands the payload out to be masked")
  func mayBeSecret() async throws {
    let parts = [
      "\"", "\"", "\"", "\"", ":", ":", ",", "{", "}", "[", "]", "\\", " ", "\n", "x", "12", "token", "SECRET",
      "Api_Key", "apiKEY",
      "Pass", "word", "to\u{212A}en", "ſecret", "authorıza", "AUTHORIZATION", "é", "null",
    ]
    var random = SeededGenerator(seed: 7)
    var texts = ["", #"{"token":1}"#, #"{"a":{"myPassword":{"x":["}"]}}}"#, #"{"secret":"x"#, "\"to\u{212A}en\":1"]
    for _ in 0..<5000 {
      texts.append(
        (0..<Int.random(in: 1...14, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }.joined())
    }
    try await TestStack.with { [texts] stack in
      let secrets = PayloadCondition(text: "\u{1}nowhere", orWords: SecretFields.words, carried: 0)
      let letOut = try await stack.pool.query(
        """
        SELECT \(secrets) FROM (
          SELECT payload, lower(payload COLLATE "C") AS small, n
            FROM unnest(\(texts)) WITH ORDINALITY AS t (payload, n)) AS t ORDER BY n
        """
      ).decode(Bool.self)
      var changed = 0
      for (text, mayBe) in zip(texts, letOut) where SecretFields.masked(Array(text.utf8)) != Array(text.utf8) {
        changed += 1
        #expect(mayBe, "\(text)")
      }
      #expect(changed > 20, "\(changed) of them had a secret")
    }
  }

  @Test("What cannot be a page is refused")
  func refused() async throws {
    try await TestStack.with { stack in
      for filter in [
        JobFilter(limit: 0), JobFilter(limit: 1_000_000), JobFilter(before: "nonsense"),
        JobFilter(state: .dead, before: "nonsense"), JobFilter(state: .dead, before: JobID.next().description),
      ] {
        let error = await #expect(throws: OperationError.self) { try await JobAdmin.page(filter, on: stack.database) }
        #expect(error?.code == .usage)
      }
    }
  }
}
