import ArgumentParser
import Jobs
import Operations

struct DeadCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "dead", abstract: "Look at dead letters, the jobs that are not tried any more, and try them again.",
    subcommands: [List.self, Show.self, Retry.self])

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(abstract: "List dead letters, the latest first.")
    @OptionGroup var common: CommonOptions
    @Option(help: "Those of this kind alone.") var kind: String?
    @Option(help: "Those of this queue alone.") var queue: String?
    @Option(help: "How many at most.") var limit = 50

    func validate() throws {
      guard 1...100_000 ~= limit else {
        throw ValidationError("--limit is \(limit): a number from 1 to 100000 belongs there")
      }
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let page = try await JobDesk.page(
          JobFilter(state: .dead, kind: kind, queue: queue, limit: limit), on: pool)
        try common.output.list(page.items, empty: "there are no dead letters") { Table(jobs: $0) }
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(abstract: "Show a dead letter with its payload and every error.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The job's id.") var id: String

    func run() async throws {
      try await common.withDesk { desk in
        let detail = try await desk.jobs.show(id)
        guard detail.job.state == .dead else {
          throw OperationError(
            .notFound, "job \(id) is not dead but \(detail.job.state.rawValue): see `fanmill jobs show`")
        }
        try common.output.one(detail) { $0.text }
      }
    }
  }

  struct Retry: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      abstract: "Owe dead letters again, from their first attempt on, under their old ids.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The job's id.") var id: String?
    @Flag(help: "All of them.") var all = false
    @Option(help: "With --all: those of this kind alone.") var kind: String?

    func validate() throws {
      guard (id != nil) != all else { throw ValidationError("give an ID, or --all") }
      guard kind == nil || all else { throw ValidationError("--kind goes with --all") }
    }

    struct Retried: Encodable {
      let items: [String]
    }

    func run() async throws {
      try await common.withDesk { desk in
        if let id {
          let job = try await desk.jobs.retryDead(id, by: .terminal)
          return try common.output.one(Retried(items: [job.id])) { _ in "\(job.id) is owed again" }
        }
        let ids = try await desk.jobs.deadLetters.retry(.all(kind: kind), by: .terminal)
        try common.output.one(Retried(items: ids.map(\.description))) { "\($0.items.count.grouped) are owed again" }
        let left = try await desk.jobs.page(JobFilter(state: .dead, kind: kind, limit: 1))
        if !left.items.isEmpty {
          throw OperationError(
            .conflict, "some stay dead: jobs with their unique keys are owed; see `fanmill dead list`")
        }
      }
    }
  }
}
