import ArgumentParser
import DurableJobsAdmin

struct WorkersCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "workers", abstract: "Look at workers; let them claim no more, end them.",
      subcommands: [List.self, Quiet.self, Stop.self], defaultSubcommand: List.self)
  }

  struct List: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list", abstract: "List the workers and what they run.",
        discussion: """
          quiet: it claims no more. stopping: it ends when nothing runs any more. lost: nobody has heard of it for ten \
          seconds; its jobs go to others when its lease ends.
          """)
    }
    @OptionGroup var common: CommandOptions<P>

    func run() async throws {
      try await common.withDatabase { database in
        try common.output.list(try await WorkerAdmin(database).list(), empty: "no worker runs") { workers in
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

  struct Told: Encodable {
    let items: [String]
  }

  struct Quiet: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "quiet", abstract: "Let a worker claim no more, as before a deploy; what runs goes on.",
        discussion: "It hears it within a second, and stays quiet until it ends.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var choice: Choice

    func run() async throws {
      try await common.change(common.withDatabase) { database in
        Told(items: try await WorkerAdmin(database).quiet(choice.name, by: .terminal))
      } text: {
        $0.text("claim no more")
      }
    }
  }

  struct Stop: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "stop",
        abstract: "End a worker as SIGTERM does: it claims no more, finishes what runs, and hands back the rest.",
        discussion: "What supervises it may start another in its place.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var confirmation: Confirmation
    @OptionGroup var choice: Choice

    func run() async throws {
      try await common.run { program in
        try confirmation.ask("stop \(choice.text)")
        try await common.change(program.withDatabase) { database in
          Told(items: try await WorkerAdmin(database).stop(choice.name, by: .terminal))
        } text: {
          $0.text("stop")
        }
      }
    }
  }
}

extension WorkersCommand.Told {
  fileprivate func text(_ what: String) -> String {
    items.isEmpty ? "no worker runs" : "told to \(what): \(items.joined(separator: ", "))"
  }
}

extension WorkerSummary {
  /// The worker's running jobs, by kind.
  fileprivate var what: String {
    Dictionary(grouping: running, by: \.kind).sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
      .map { "\($0.key) \($0.value.count.grouped)" }.joined(separator: ", ")
  }
}
