import ArgumentParser
import Bootstrap

/// The admin CLI: it parses, calls `Operations`, and prints.
@main
struct Fanmill: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "fanmill",
    abstract: "Sets up, watches and repairs a Fanmill: its schema, jobs, queues, schedules and feeds.",
    discussion: """
      In a folder where `fanmill up` runs a stack, commands find it by themselves. Elsewhere FANMILL_POSTGRES_URL and \
      FANMILL_REDIS_URL, or the flags --postgres-url and --redis-url, say where the servers are; docs/settings.md lists all \
      settings. Every command but top, completion and manual takes --json; docs/cli.md shows them all at work.

      Exit status: \(ExitStatus.documented.map { "\($0.status) \($0.meaning)" }.joined(separator: "; ")).
      """,
    version: FanmillVersion.text,
    subcommands: [
      UpCommand.self, DownCommand.self, MigrateCommand.self, ImportCommand.self, ExportCommand.self,
      AccountsCommand.self, JobsCommand.self, QueuesCommand.self, WorkersCommand.self, DeadCommand.self,
      SchedulesCommand.self, FeedCommand.self, NotificationsCommand.self, RankingCommand.self, LookupsCommand.self,
      QuotaCommand.self, StatsCommand.self, TopCommand.self, DoctorCommand.self, AuditCommand.self, BenchCommand.self,
      CompletionCommand.self, ManualCommand.self, DemoCommand.self,
    ])
}

enum FanmillVersion {
  static let text = Program.version
  /// When it was made, as man pages write it.
  static let date = "November 21, 2026"
}
