import ArgumentParser
import Foundation
import Jobs
import Operations

struct JobsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "jobs", abstract: "Look at jobs, ask for one, try one again.",
    subcommands: [Enqueue.self, Kinds.self, List.self, Show.self, Retry.self])

  struct Enqueue: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      abstract: "Ask for a job.",
      discussion: """
        The job is owed from the moment this returns. An unknown kind ends with status 64 and the nearest kind there is, a \
        payload that does not decode with 65 and the field that is wrong.
        """)
    @OptionGroup var common: CommonOptions
    @Argument(help: "The job's kind; `fanmill jobs kinds` lists them.", completion: .kinds) var kind: String
    @Option(help: "The payload as JSON, or @FILE (@- is the standard input).") var payload: String
    @Option(help: "Another queue than the kind's own.", completion: .queues) var queue: String?
    @Option(help: "When it is due, in ISO 8601, such as 2030-01-31T12:00:00Z.") var at: String?
    @Option(name: .customLong("in"), help: "How long until it is due, such as 90s, 15m, 2h or 1d.") var delay: String?
    @Option(help: "high, normal or low.") var priority: JobPriority = .normal
    @Option(help: "While a job of this key is owed in the queue, another is not added.") var uniqueKey: String?

    func validate() throws {
      _ = try runAt()
    }

    func run() async throws {
      try await common.run { program in
        let request = JobRequest(
          kind: kind, payload: try PayloadArgument.read(payload), queue: queue, priority: priority, runAt: try runAt(),
          uniqueKey: uniqueKey)
        // Refused before any server is asked.
        _ = try JobKinds.app.record(request)
        try await common.withDesk(program) { desk in
          let record = try await desk.jobs.enqueue(request, by: .terminal)
          try common.output.one(Enqueued(id: record.id.description, kind: kind, queue: record.queue.rawValue)) { $0.id }
        }
      }
    }

    struct Enqueued: Encodable {
      let id: String
      let kind: String
      let queue: String
    }

    private func runAt() throws -> Date? {
      switch (at, delay) {
      case (nil, nil): return nil
      case (.some, .some): throw ValidationError("--at and --in say the same thing: give one of them")
      case (.some(let at), nil):
        for style in [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)] {
          // One of two forms is enough; that the other is refused is no error.
          if let date = try? style.parse(at) { return date }
        }
        throw ValidationError("--at is '\(at)': a time in ISO 8601 belongs there, such as 2030-01-31T12:00:00Z")
      case (nil, .some(let delay)):
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
        guard let unit = delay.last.flatMap({ units[$0] }), let count = Double(delay.dropLast()), count.isFinite,
          0...1e6 ~= count
        else { throw ValidationError("--in is '\(delay)': a time belongs there, such as 90s, 15m, 2h or 1d") }
        return Date(timeIntervalSinceNow: count * unit)
      }
    }
  }

  struct Kinds: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(abstract: "List the kinds of jobs.")
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { _ in
        try common.output.list(JobKinds.app.list, empty: "there are no kinds") { kinds in
          Table(
            [.text("kind"), .text("queue"), .number("version"), .number("attempts"), .number("time limit")],
            rows: kinds.map { kind in
              [
                kind.kind, kind.queue, String(kind.version), String(kind.maxAttempts),
                kind.timeout.map { "\(Int($0)) s" } ?? "none",
              ]
            })
        }
      }
    }
  }

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      abstract: "List jobs that are owed, the newest first, or dead ones.")
    @OptionGroup var common: CommonOptions
    @Option(help: "waiting, delayed, retrying, parked, dead, done, cancelled or deleted; without it all that are owed.")
    var state: JobState?
    @Option(help: "Jobs of this kind alone.") var kind: String?
    @Option(help: "Jobs of this queue alone.") var queue: String?
    @Option(help: "How many at most.") var limit = 50

    func validate() throws {
      guard 1...100_000 ~= limit else {
        throw ValidationError("--limit is \(limit): a number from 1 to 100000 belongs there")
      }
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let page = try await JobDesk.page(
          JobFilter(state: state, kind: kind, queue: queue, limit: limit), on: pool)
        try common.output.list(page.items, empty: "no such job is owed") { Table(jobs: $0) }
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(abstract: "Show all that is known of a job that is owed or dead.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The job's id.") var id: String

    func run() async throws {
      try await common.withDesk { desk in
        try common.output.one(try await desk.jobs.show(id)) { $0.text }
      }
    }
  }

  struct Retry: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      abstract: "Let a job run at once: a dead one from its first attempt on, one that waits for its time now.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The job's id.") var id: String

    func run() async throws {
      try await common.withDesk { desk in
        try common.output.one(try await desk.jobs.retry(id, by: .terminal)) { "\($0.id) is \($0.state.rawValue)" }
      }
    }
  }
}

/// A payload on the command line: itself, or `@` and where it is.
enum PayloadArgument {
  /// - Throws: `.noInput` for a file that cannot be read.
  static func read(_ argument: String) throws(OperationError) -> [UInt8] {
    guard argument.hasPrefix("@") else { return Array(argument.utf8) }
    let path = String(argument.dropFirst())
    do {
      let data =
        path == "-"
        ? try FileHandle.standardInput.readToEnd() ?? Data() : try Data(contentsOf: URL(fileURLWithPath: path))
      return Array(data)
    } catch {
      throw OperationError(.noInput, "the payload's file \(path) cannot be read: \(error.localizedDescription)")
    }
  }
}

extension JobState: ExpressibleByArgument {}

extension JobPriority: ExpressibleByArgument {
  public init?(argument: String) {
    guard let priority = JobPriority.allCases.first(where: { "\($0)" == argument }) else { return nil }
    self = priority
  }

  public var defaultValueDescription: String { "\(self)" }
  public static var allValueStrings: [String] { allCases.map { "\($0)" } }
}

extension Table {
  init(jobs: [JobSummary]) {
    self.init(
      [
        .id(), .text("kind"), .text("queue").extra, .state(), .number("attempts").extra, .text("due or died"),
        .elastic("error"),
      ],
      rows: jobs.map { job in
        [
          job.id, job.kind, job.queue, job.state.rawValue, String(job.attempts),
          (job.diedAt ?? job.runAt)?.short ?? "", job.error ?? "",
        ]
      })
  }
}

extension JobDetail {
  var text: String {
    var lines = [
      ("id", job.id), ("kind", "\(job.kind), version \(version)"), ("queue", job.queue), ("state", job.state.rawValue),
      ("priority", job.priority), ("attempts", String(job.attempts)), ("asked for", job.createdAt.short),
    ]
    if let runAt = job.runAt { lines.append(("due", runAt.short)) }
    if let diedAt = job.diedAt { lines.append(("died", diedAt.short)) }
    if let uniqueKey = job.uniqueKey { lines.append(("unique key", uniqueKey)) }
    if let isInBroker { lines.append(("broker", isInBroker ? "knows it" : "does not know it; the relay will push it")) }
    lines.append(("payload", payload))
    for failure in failures {
      lines.append(("attempt \(failure.attempt)", "\(failure.at.short), \(failure.worker): \(failure.error)"))
    }
    return lines.map { $0.0.padding(toLength: 12, withPad: " ", startingAt: 0) + $0.1 }.joined(separator: "\n")
  }
}
