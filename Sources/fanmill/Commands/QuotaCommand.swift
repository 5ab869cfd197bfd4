import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI
import Social
import SocialAdmin

struct QuotaCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "quota", abstract: "Show what the YouTube API keys have spent today.",
    subcommands: [List.self, Enable.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the keys by their labels, with what is spent and left.",
      discussion: """
        A label is the start of the key's SHA-256. Budgets are per day of Pacific time. Reserved units belong to calls \
        in progress, or to calls whose worker died.
        """)
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.run { program in
        try await program.withPostgres { pool in
          let keys = try await QuotaReport.keys(program.settings.lookupRules, in: pool)
          try common.output.list(keys, empty: "no key is set (FANMILL_YOUTUBE_KEYS), and none was used today") {
            Table(keys: $0)
          }
        }
      }
    }
  }

  struct Enable: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "enable", abstract: "Re-enable a key that YouTube refused.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The key's label, as `fanmill quota` shows it.") var label: String

    struct Enabled: Encodable {
      let key: String
    }

    func run() async throws {
      try await common.withPostgres { pool in
        try await QuotaReport.enable(label, in: pool)
        try common.output.one(Enabled(key: label)) { "\($0.key) is enabled again" }
      }
    }
  }
}

extension Table {
  fileprivate init(keys: [KeyStanding]) {
    self.init(
      [
        .id("key"), .text("budget"), .number("spent"), .number("reserved").extra, .number("left"), .number("a day"),
        .text("resets"), .elastic("state"),
      ],
      rows: keys.flatMap { key in
        key.budgets.map { budget in
          [
            key.key, budget.name, budget.spent.grouped, budget.reserved.grouped, budget.left.grouped,
            budget.limit.grouped, key.resetsAt.away(), key.state,
          ]
        }
      })
  }
}

extension KeyStanding {
  fileprivate var state: String {
    guard let disabledAt else { return isSet ? "in use" : "not set here" }
    let why = [reason, message].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ": ")
    return "disabled \(disabledAt.short), \(why)"
  }
}
