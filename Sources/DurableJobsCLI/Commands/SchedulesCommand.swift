import ArgumentParser
import DurableJobs
import DurableJobsAdmin

struct SchedulesCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "schedules", abstract: "List schedules; pause, resume or run them.",
      discussion: """
        An unknown name fails with status 64 and names the nearest schedule. Workers fire the schedules; \
        docs/schedules.md says what they promise.
        """,
      subcommands: [List.self, Run.self, Pause.self, Resume.self], defaultSubcommand: List.self)
  }

  struct List: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list", abstract: "List the schedules.",
        discussion: """
          active: a worker fires it. paused: it does not fire. overdue: its next tick was due more than a minute ago, \
          so no worker is running. new: no worker has registered it yet. unknown: it belongs to another version.
          """)
    }
    @OptionGroup var common: CommandOptions<P>

    func run() async throws {
      try await common.withSchedules { admin in
        try common.output.list(try await admin.list(), empty: "there are no schedules") { schedules in
          Table(
            [
              .id("schedule"), .state(), .text("timing"), .text("kind").extra, .text("last tick"), .text("next tick"),
            ],
            rows: schedules.map { schedule in
              [
                schedule.name, schedule.state.rawValue, schedule.timing, schedule.kind, schedule.lastTick?.away() ?? "",
                schedule.nextTick?.away() ?? "",
              ]
            })
        }
      }
    }
  }

  struct Run: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "run", abstract: "Enqueue a schedule's job now, in addition to its ticks, even while it is paused."
      )
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The schedule's name.") var name: String

    func run() async throws {
      try await common.run { program in
        let schedules = try program.schedules
        // Reject an unknown name before connecting to a server.
        _ = try ScheduleAdmin.schedule(name, of: schedules)
        try await common.withAdmin(program) { admin in
          let run = try await ScheduleAdmin(schedules, database: admin.database).run(
            name, on: admin.jobs, by: .terminal)
          try common.output.one(run) { $0.id }
        }
      }
    }
  }

  struct Pause: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "pause", abstract: "Stop a schedule from firing until it is resumed.")
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The schedule's name.") var name: String

    func run() async throws {
      try await common.change(common.withSchedules) {
        try await $0.pause(name, by: .terminal)
      } text: {
        "\($0.name) is \($0.state.rawValue)"
      }
    }
  }

  struct Resume: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "resume", abstract: "Let a paused schedule fire again, starting with its next tick.")
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The schedule's name.") var name: String

    func run() async throws {
      try await common.change(common.withSchedules) {
        try await $0.resume(name, by: .terminal)
      } text: { schedule in
        "\(schedule.name) is \(schedule.state.rawValue)"
          + (schedule.nextTick.map { "; its next tick is \($0.short)" } ?? "")
      }
    }
  }
}

extension CommandOptions {
  /// Runs a command's body with the schedules, which are stored in Postgres.
  fileprivate func withSchedules(_ body: @escaping @Sendable (ScheduleAdmin) async throws -> Void) async throws {
    try await run { program in
      let schedules = try program.schedules
      try await program.withDatabase { database in try await body(ScheduleAdmin(schedules, database: database)) }
    }
  }
}
