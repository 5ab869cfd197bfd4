import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import Social
import SocialAdmin

struct LookupsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "lookups", abstract: "List lookups of YouTube channels, and run one.",
    subcommands: [List.self, Show.self, Run.self])

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List lookups, the latest first.")
    @OptionGroup var common: CommonOptions
    @Option(help: "Only lookups in this state: waiting, running, parked, done or failed.") var state: Lookup.State?
    @Option(help: "The maximum number of entries.") var limit = 50

    func validate() throws {
      guard 1...100_000 ~= limit else {
        throw ValidationError("--limit is \(limit): use a number from 1 to 100000")
      }
    }

    func run() async throws {
      try await common.run { program in
        try await program.withPostgres { pool in
          let lookups = try await LookupAdmin(rules: program.settings.lookupRules, pool: pool)
            .list(state: state, limit: limit)
          try common.output.list(lookups, empty: "there are no lookups") { Table(lookups: $0) }
        }
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show a lookup and the channels stored for it.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The lookup's id.") var id: String

    func run() async throws {
      try await common.run { program in
        try await program.withPostgres { pool in
          let report = try await LookupAdmin(rules: program.settings.lookupRules, pool: pool).show(id)
          try common.output.one(report) { $0.text }
        }
      }
    }
  }

  struct Run: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "run", abstract: "Look a channel up as a fan does, wait for the answer and print it.",
      discussion: """
        The question is a channel's id (UC…), a handle (@…), an address or words. A fresh stored answer is printed at \
        once; otherwise a worker must be running. Exits with 1 if no answer comes.
        """)
    @OptionGroup var common: CommonOptions
    @Argument(help: "What to look up.") var question: String
    @Option(name: [.customLong("timeout"), .customLong("wait")], help: "How long to wait, \(TimeSpan.form).")
    var timeout = TimeSpan(seconds: 60)

    func run() async throws {
      try await common.run { program in
        try await common.withAdmin(program) { admin in
          let jobs = JobClient(
            broker: admin.broker, ledger: PostgresLedger(admin.database), logger: program.logger)
          let report = try await LookupAdmin(rules: program.settings.lookupRules, pool: admin.database.pool)
            .run(question, through: jobs, patience: timeout.duration)
          try common.output.one(report) { $0.text }
        }
      }
    }
  }
}

extension Lookup.State: ExpressibleByArgument {}

extension Table {
  fileprivate init(lookups: [LookupSummary]) {
    self.init(
      [.id(), .state(), .text("requested"), .elastic("question"), .elastic("reason")],
      rows: lookups.map { lookup in
        [lookup.id, lookup.state.rawValue, lookup.createdAt.away(), lookup.question, lookup.reason ?? ""]
      })
  }

  fileprivate init(channels: [ChannelSummary]) {
    self.init(
      [.id(), .text("handle"), .elastic("title")],
      rows: channels.map { [$0.id, $0.handle ?? "", $0.title] })
  }
}

extension LookupReport {
  fileprivate var text: String {
    var lines: [(String, String)] = []
    if let lookup {
      lines = [
        ("id", lookup.id), ("question", lookup.question), ("state", lookup.state.rawValue),
        ("requested at", lookup.createdAt.short),
      ]
      if let endedAt = lookup.endedAt { lines.append(("ended at", endedAt.short)) }
      if let retryAt = lookup.retryAt { lines.append(("continues at", retryAt.short)) }
      if let reason = lookup.reason { lines.append(("reason", reason)) }
      if let message = lookup.message, !message.isEmpty { lines.append(("message", message)) }
    }
    let channels = items.isEmpty ? "no channel" : Table(channels: items).text(on: .output)
    return ((lines.isEmpty ? [] : [facts(lines)]) + [channels]).joined(separator: "\n")
  }
}
