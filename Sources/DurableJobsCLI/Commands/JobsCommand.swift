import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import Foundation

struct JobsCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "jobs", abstract: "List, enqueue, retry and cancel jobs.",
      subcommands: [
        Enqueue.self, Kinds.self, List.self, Show.self, Retry.self, Reschedule.self, Cancel.self, Delete.self,
      ])
  }

  struct Kinds: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "kinds", abstract: "List the kinds of jobs, with the fields of their payloads.",
        discussion: "A field in brackets is optional.")
    }
    @OptionGroup var common: CommandOptions<P>

    func run() async throws {
      try await common.run { _ in
        try common.output.list(P.kinds.list, empty: "there are no kinds") { kinds in
          Table(
            [
              .id("kind"), .text("queue"), .number("version").extra, .number("attempts").extra,
              .number("time limit").extra, .elastic("payload"),
            ],
            rows: kinds.map { kind in
              [
                kind.kind, kind.queue, String(kind.version), String(kind.maxAttempts), kind.timeout?.span ?? "none",
                kind.fields.map { $0.isEmpty ? "none" : $0.map(\.text).joined(separator: ", ") } ?? "custom encoding",
              ]
            })
        }
      }
    }
  }

  struct List: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list", abstract: "List pending, dead or finished jobs, the newest first.",
        discussion: """
          Without --state, all pending jobs: waiting, running, delayed, retrying and parked. dead lists the dead \
          letters. done, cancelled and deleted jobs are kept for some days; of the done ones, only those that had \
          failed before. A payload search stops after many jobs and says so; the next page continues.
          """)
    }
    @OptionGroup var common: CommandOptions<P>
    @Option(help: "Only jobs in this state.") var state: JobState?
    @OptionGroup var filter: JobFilterOptions<P>

    func run() async throws {
      try await common.withDatabase { database in
        try common.output.jobs(
          try await JobAdmin.page(filter.filter(state), on: database), kind: filter.kind, of: P.kinds,
          empty: state?.isPending == false ? "there is no such job" : "no such job is pending")
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "show",
        abstract: "Show a job's state, history and payload."
      )
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The job's id.") var id: String

    func run() async throws {
      try await common.withAdmin { admin in
        try common.output.one(try await admin.jobs.show(id)) { $0.text }
      }
    }
  }

  struct Retry: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "retry",
        abstract: "Run a job at once: a dead one restarts from its first attempt, a delayed one is due now.")
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The job's id.") var id: String

    func run() async throws {
      try await common.withAdmin { admin in
        try common.output.one(try await admin.jobs.retry(id, by: .terminal)) { $0.sentence }
      }
    }
  }

  struct Reschedule: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "reschedule", abstract: "Change when a waiting job is due.",
        discussion: "Give --at or --in.")
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The job's id.") var id: String
    @OptionGroup var due: DueTime

    func validate() throws {
      if try due.date() == nil { throw ValidationError("give the due time: --at or --in") }
    }

    func run() async throws {
      guard let date = try due.date() else { return }
      try await common.withAdmin { admin in
        try common.output.one(try await admin.jobs.reschedule(id, at: date, by: .terminal)) {
          "\($0.sentence), due \($0.runAt?.short ?? "at once")"
        }
      }
    }
  }

  struct Cancel: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "cancel", abstract: "Cancel pending jobs, without their effects.",
        discussion: """
          A waiting job is cancelled at once. The worker of a running job is notified, and the job's transaction is \
          rolled back. A record of each job is kept for some days.
          """)
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var confirmation: Confirmation
    @OptionGroup var choice: JobChoice<P>
    @Option(help: "Only jobs in this state.") var state: JobState?

    func validate() throws {
      try choice.check(isFiltered: state != nil)
      if let state, !state.isPending {
        throw ValidationError("--state \(state.rawValue) is not a state of pending jobs")
      }
    }

    private var what: String { state.map { "\($0.rawValue) jobs" } ?? "pending jobs" }

    func run() async throws {
      try await common.run { program in
        if choice.dryRun {
          return try await common.withAdmin(program) { try await choice.count(state, what, $0.jobs, common.output) }
        }
        try confirmation.ask("cancel \(choice.id.map { "job \($0)" } ?? choice.conditions.text(of: what))")
        try await common.withAdmin(program) { admin in
          if let id = choice.id {
            return try common.output.one(try await admin.jobs.cancel(id, by: .terminal)) { $0.sentence }
          }
          let line = ProgressLine()
          defer { line.clear() }
          let (cancelled, ordered) = try await admin.jobs.cancel(
            all: choice.conditions.filter(state), by: .terminal, rate: choice.rate
          ) { line.show($0, of: nil, "cancelled") }
          line.clear()
          try common.output.one(Cancelled(cancelled: cancelled, ordered: ordered)) { done in
            "\(done.cancelled.grouped) cancelled"
              + (done.ordered == 0 ? "" : "; \(done.ordered.grouped) still running, told to stop")
              + choice.conditions.hint
          }
        }
      }
    }

    struct Cancelled: Encodable {
      let cancelled: Int
      /// Jobs that run: their workers are notified.
      let ordered: Int
    }
  }

  struct Delete: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "delete", abstract: "Delete a dead job; a pending one is cancelled instead.",
        discussion: "A record of the job is kept for some days.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var confirmation: Confirmation
    @Argument(help: "The job's id.") var id: String

    func run() async throws {
      try await common.run { program in
        try confirmation.ask("delete the dead job \(id)")
        try await common.withAdmin(program) { admin in
          try common.output.one(try await admin.jobs.delete(id, by: .terminal)) { $0.sentence }
        }
      }
    }
  }
}

extension JobState: ExpressibleByArgument {}

extension PayloadField {
  fileprivate var text: String { isRequired ? "\(name): \(type)" : "[\(name): \(type)]" }
}

extension JobSummary {
  var sentence: String { "\(id) is \(state.rawValue)" }
}

extension JobDetail {
  var text: String {
    let isColored = Terminal.output.isColored
    let state = job.state.rawValue
    var lines = [
      ("id", job.id), ("kind", "\(job.kind), version \(version)"), ("queue", job.queue),
      ("state", Style.ofState(state)?.paint(state, isColored: isColored) ?? state), ("priority", job.priority),
      ("attempts", String(job.attempts)), ("enqueued", job.createdAt.short),
    ]
    if let runAt = job.runAt { lines.append(("due", runAt.short)) }
    if let diedAt = job.diedAt { lines.append(("died", diedAt.short)) }
    if let endedAt = job.endedAt { lines.append(("ended", endedAt.short)) }
    if let uniqueKey = job.uniqueKey { lines.append(("unique key", uniqueKey)) }
    if let traceID { lines.append(("trace", traceID)) }
    if let isInBroker { lines.append(("broker", isInBroker ? "knows it" : "does not know it; the relay will push it")) }
    lines.append(("payload", payload))
    for failure in failures {
      lines.append(("attempt \(failure.attempt)", "\(failure.at.short), \(failure.worker): \(failure.error)"))
    }
    if timeline.isEmpty { return facts(lines) }
    let events = Table(
      [.text("at"), .text("what"), .elastic("")], rows: timeline.map { [$0.at.short, $0.what, $0.detail ?? ""] })
    return facts(lines) + "\n\n" + events.text(on: .output)
  }
}
