import ArgumentParser
import DurableJobsAdmin

struct QueuesCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "queues", abstract: "List queues; pause, resume, drain and clear them.",
      subcommands: [List.self, Show.self, Pause.self, Resume.self, Drain.self, Clear.self], defaultSubcommand: List.self
    )
  }

  struct List: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list", abstract: "List the queues.",
        discussion: """
          ready, delayed, claimed and workers are the broker's current numbers; pending counts the durable jobs among \
          them, and parked those that no worker knows. waiting is how long the oldest ready job has been ready, and \
          running how long the longest-running job has run.
          """)
    }
    @OptionGroup var common: CommandOptions<P>

    func run() async throws {
      try await common.withAdmin { admin in
        try common.output.list(try await admin.queues.list(), empty: "there are no queues") { queues in
          Table(
            [
              .id("queue"), .state(), .number("ready"), .number("delayed"), .number("claimed"), .number("workers"),
              .number("pending").extra, .number("parked").extra, .number("waiting"), .number("running").extra,
            ],
            rows: queues.map { queue in
              [queue.queue, queue.isPaused ? "paused" : "active"]
                + [queue.ready, queue.delayed, queue.claimed, queue.workers, queue.pending].map(\.grouped)
                + [queue.parkedText, queue.oldestWaiting?.span ?? "", queue.oldestRunning?.span ?? ""]
            })
        }
      }
    }
  }

  /// The name of a command's queue.
  struct Name: ParsableArguments, Sendable {
    @Argument(help: "The queue's name.", completion: .queues(of: P.self)) var name: String
  }

  struct Show: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "show", abstract: "Show a queue: its jobs, its workers and the last hour's work.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var queue: Name

    func run() async throws {
      try await common.withAdmin { admin in
        try common.output.one(try await admin.queues.show(queue.name)) { $0.text }
      }
    }
  }

  /// The result of a change to a queue.
  struct Changed: Encodable {
    let queue: String
    var isPaused: Bool?
    var cancelled: Int?
  }

  struct Pause: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "pause", abstract: "Stop workers from claiming from a queue; running jobs continue.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var queue: Name

    func run() async throws {
      try await common.change(common.withAdmin) { admin in
        try await admin.queues.pause(queue.name, by: .terminal)
        return Changed(queue: queue.name, isPaused: true)
      } text: {
        "\($0.queue) is paused"
      }
    }
  }

  struct Resume: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "resume", abstract: "Let workers claim from a queue again.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var queue: Name

    func run() async throws {
      try await common.change(common.withAdmin) { admin in
        try await admin.queues.resume(queue.name, by: .terminal)
        return Changed(queue: queue.name, isPaused: false)
      } text: {
        "\($0.queue) is active"
      }
    }
  }

  struct Drain: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "drain",
        abstract: "Wait until a queue is empty; exit 1 if that takes too long.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var queue: Name
    @Option(help: "How long to wait, \(TimeSpan.form).") var timeout = TimeSpan(seconds: 300)

    func run() async throws {
      try await common.withAdmin { admin in
        let line = ProgressLine()
        defer { line.clear() }
        try await admin.queues.drain(queue.name, limit: timeout.duration) { line.show($0, of: nil, "jobs are left") }
        line.clear()
        try common.output.one(Changed(queue: queue.name)) { "\($0.queue) is empty" }
      }
    }
  }

  struct Clear: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "clear", abstract: "Cancel all pending jobs of a queue.",
        discussion:
          """
          Running jobs are cancelled too, and their transactions rolled back. If some have not ended within 10 \
          seconds, the command says how many are left and exits with status 1. Jobs that only Redis has are dropped \
          unless they are already running. A record of each cancelled job is kept for some days.
          """)
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var confirmation: Confirmation
    @OptionGroup var queue: Name

    func run() async throws {
      try await common.run { program in
        try confirmation.ask("cancel all jobs of queue \(queue.name)")
        try await common.withAdmin(program) { admin in
          let line = ProgressLine()
          defer { line.clear() }
          let count = try await admin.queues.clear(queue.name, by: .terminal) {
            line.show($0, of: nil, "cancelled")
          }
          line.clear()
          try common.output.one(Changed(queue: queue.name, cancelled: count)) { _ in "\(count.grouped) cancelled" }
        }
      }
    }
  }
}

extension QueueSummary {
  fileprivate var parkedText: String { parked >= Self.maxCounted ? "\(parked.grouped)+" : parked.grouped }
}

extension QueueDetail {
  fileprivate var text: String {
    let queue = summary
    var state = queue.isPaused ? "paused" : "active"
    if let pausedAt { state += " since \(pausedAt.short) by \(pausedBy ?? "someone")" }
    var parts = [
      facts([
        ("queue", queue.queue), ("state", state),
        ("ready", "\(queue.ready.grouped) (\(high.grouped) high, \(normal.grouped) normal, \(low.grouped) low)"),
        ("delayed", queue.delayed.grouped), ("claimed", queue.claimed.grouped), ("pending", queue.pending.grouped),
        ("parked", queue.parkedText), ("oldest waiting", queue.oldestWaiting?.span ?? "none"),
        ("oldest running", queue.oldestRunning?.span ?? "none"),
      ])
    ]
    if !workers.isEmpty {
      parts.append(
        Table(
          [.id("worker"), .number("concurrency"), .number("running")],
          rows: workers.map { [$0.name, $0.concurrency.grouped, $0.running.grouped] }
        ).text(on: .output))
    }
    if !kinds.isEmpty { parts.append("The last hour:\n" + Table(statistics: kinds).text(on: .output)) }
    return parts.joined(separator: "\n\n")
  }
}
