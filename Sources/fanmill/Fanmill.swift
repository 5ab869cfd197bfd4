import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI

/// The admin CLI: it parses, calls the admin libraries, and prints.
///
/// Every command sets its name explicitly: deriving the names from the type names asks the runtime for each type's
/// conformances, and took a quarter of the startup time.
@main
struct Fanmill: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "fanmill",
    abstract: "Sets up, watches and repairs a Fanmill: its schema, jobs, queues, schedules and feeds.",
    discussion: """
      In a folder where `fanmill up` runs a stack, commands find it automatically. Elsewhere FANMILL_POSTGRES_URL and \
      FANMILL_REDIS_URL, or the flags --postgres-url and --redis-url, name the servers; docs/settings.md lists all \
      settings. Every command but top, completion and manual takes --json; docs/cli.md shows them all in use.

      Exit status: \(CommandStatus.documented.map { "\($0.status) \($0.meaning)" }.joined(separator: "; ")).
      """,
    version: FanmillVersion.text,
    subcommands: [
      UpCommand.self, DownCommand.self, MigrateCommand.self, ImportCommand.self, ExportCommand.self,
      AccountsCommand.self, ReportsCommand.self, TakedownsCommand.self, WebhooksCommand.self,
    ] + QueueCommands<FanmillProgram>.all + [
      FeedCommand.self, MediaCommand.self, NotificationsCommand.self, RankingCommand.self, CertificatesCommand.self,
      LookupsCommand.self,
      QuotaCommand.self, AuditCommand.self, DemoCommand.self,
    ] + QueueCommands<FanmillProgram>.shell
  )

  static func main() async {
    do {
      let given = try SettingsFlags(Array(CommandLine.arguments.dropFirst()))
      try await FanmillProgram.$given.withValue(given) { try await run(given.rest) }
    } catch {
      exit(withError: error)
    }
  }

  private static func run(_ words: [String]) async throws {
    do {
      var command = try parseAsRoot(words)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      exitUnlessKnown(words)
      throw error
    }
  }

  /// Exits with an error that suggests the nearest command if these words name an unknown one.
  private static func exitUnlessKnown(_ words: [String]) {
    var group: any ParsableCommand.Type = Fanmill.self
    var path = "fanmill"
    for word in words {
      let commands = group.configuration.subcommands
      if word.hasPrefix("-") || word == "help" || commands.isEmpty { return }
      if let next = commands.first(where: { $0._commandName == word }) {
        (group, path) = (next, "\(path) \(word)")
        continue
      }
      let names = commands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
      let meant = EditDistance.meant(by: word, of: names).map { ": did you mean '\($0)'?" }
      let hint = meant ?? "; commands: \(names.joined(separator: ", "))"
      group.exit(withError: ValidationError("there is no command '\(path) \(word)'\(hint)"))
    }
  }
}

enum FanmillVersion {
  static let text = Program.version
  /// The date of this version, in man page format.
  static let date = "November 21, 2026"
}
