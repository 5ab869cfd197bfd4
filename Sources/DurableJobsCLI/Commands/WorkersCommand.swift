import ArgumentParser
import DurableJobsAdmin

struct WorkersCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "workers", abstract: "List workers; quiet or stop them.",
      subcommands: [List.self, Quiet.self, Stop.self], defaultSubcommand: List.self)
  }

  struct List: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list", abstract: "List the workers and what they run.",
        discussion: """
          quiet: it claims no more jobs. stopping: it exits when its running jobs end. lost: it has not reported for \
          ten seconds; its jobs are handed on when its lease ends.
          """)
    }
    @OptionGroup var common: CommandOptions<P>

    func run() async throws {
      try await common.withDatabase { database in
        try common.output.list(try await WorkerAdmin(database).list(), empty: "no worker is running") { workers in
          Table(
            [
              .id("worker"), .state(), .text("version").extra, .text("since"), .text("seen").extra,
              .number("concurrency").extra,
              .number("running"), .elastic("what"),
            ],
            rows: workers.map { worker in
              [
                worker.name, worker.state.rawValue, worker.version, worker.startedAt.away(), worker.seenAt.away(),
                worker.queues.reduce(0) { $0 + $1.concurrency }.grouped, worker.running.count.grouped, worker.what,
              ]
            })
        }
      }
    }
  }

  /// One worker, or all.
  struct Choice: ParsableArguments, Sendable {
    @Argument(help: "The worker's name.") var name: String?
    @Flag(help: "All of them.") var all = false

    mutating func validate() throws {
      guard (name != nil) != all else { throw ValidationError("give a worker's NAME, or --all") }
    }

    var text: String { name.map { "worker \($0)" } ?? "all workers" }
  }

  struct Notified: Encodable {
    let items: [String]
  }

  struct Quiet: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "quiet", abstract: "Stop a worker from claiming, as before a deploy; running jobs continue.",
        discussion: "The worker is notified within a second, and stays quiet until it exits.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var choice: Choice

    func run() async throws {
      try await common.change(common.withDatabase) { database in
        Notified(items: try await WorkerAdmin(database).quiet(choice.name, by: .terminal))
      } text: {
        $0.text("claim no more")
      }
    }
  }

  struct Stop: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "stop",
        abstract: "Stop a worker as SIGTERM does: it claims no more, finishes running jobs, and hands back the rest.",
        discussion: "Its supervisor may start a replacement.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var confirmation: Confirmation
    @OptionGroup var choice: Choice

    func run() async throws {
      try await common.run { program in
        try confirmation.ask("stop \(choice.text)")
        try await common.change(program.withDatabase) { database in
          Notified(items: try await WorkerAdmin(database).stop(choice.name, by: .terminal))
        } text: {
          $0.text("stop")
        }
      }
    }
  }
}

extension WorkersCommand.Notified {
  fileprivate func text(_ what: String) -> String {
    items.isEmpty ? "no worker is running" : "asked to \(what): \(items.joined(separator: ", "))"
  }
}

extension WorkerSummary {
  /// The worker's running jobs, by kind.
  fileprivate var what: String {
    Dictionary(grouping: running, by: \.kind).sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
      .map { "\($0.key) \($0.value.count.grouped)" }.joined(separator: ", ")
  }
}
