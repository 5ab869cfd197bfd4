import ArgumentParser
import DurableJobs
import DurableJobsAdmin

struct DeadCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "dead",
      abstract: "Look at dead letters, the jobs that are not tried any more; try them again, or throw them away.",
      subcommands: [List.self, Show.self, Retry.self, Delete.self])
  }

  struct List: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list", abstract: "List dead letters, the latest first.",
        discussion: "A search in payloads ends after many jobs, and says so; the next page goes on.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var filter: JobFilterOptions<P>

    func run() async throws {
      try await common.withDatabase { database in
        try common.output.jobs(
          try await JobAdmin.page(filter.filter(.dead), on: database), kind: filter.kind, of: P.kinds,
          empty: "there are no dead letters"
        )
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "show", abstract: "Show a dead letter with its payload and every error.")
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The job's id.") var id: String

    func run() async throws {
      try await common.withAdmin { desk in
        let detail = try await desk.jobs.show(id)
        guard detail.job.state == .dead else {
          throw OperationError(
            .notFound, "job \(id) is not dead but \(detail.job.state.rawValue): see `\(P.path) jobs show`")
        }
        try common.output.one(detail) { $0.text }
      }
    }
  }

  /// One dead letter, all of a kind, or all.
  struct Choice: ParsableArguments, Sendable {
    @Argument(help: "The job's id.") var id: String?
    @Option(help: "All of this kind.", completion: .kinds(of: P.self)) var kind: String?
    @Flag(help: "All of them; with --kind all of that kind.") var all = false

    mutating func validate() throws {
      guard (id != nil) != (all || kind != nil) else { throw ValidationError("give an ID, --kind KIND, or --all") }
    }

    /// A suggestion if the given kind does not exist.
    var hint: String {
      guard let kind, let nearest = P.kinds.nearest(to: kind) else { return "" }
      return "; there is no kind '\(kind)': is it '\(nearest)'?"
    }

    var text: String { kind.map { "all dead letters of kind \($0)" } ?? "all dead letters" }
  }

  struct Changed: Encodable {
    let items: [String]
  }

  struct Retry: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "retry", abstract: "Owe dead letters again, from their first attempt on, under their old ids.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var choice: Choice

    func run() async throws {
      try await common.withAdmin { desk in
        if let id = choice.id {
          let job = try await desk.jobs.retryDead(id, by: .terminal)
          return try common.output.one(Changed(items: [job.id])) { _ in "\(job.id) is pending again" }
        }
        let line = ProgressLine()
        defer { line.clear() }
        let ids = try await desk.jobs.deadLetters.retry(.all(kind: choice.kind), by: .terminal) {
          line.show($0, of: nil, "are pending again")
        }
        line.clear()
        try common.output.one(Changed(items: ids.map(\.description))) {
          "\($0.items.count.grouped) are pending again\(choice.hint)"
        }
        let left = try await desk.jobs.page(JobFilter(state: .dead, kind: choice.kind, limit: 1))
        if !left.items.isEmpty {
          throw OperationError(
            .conflict, "some stay dead: jobs with their unique keys are pending; see `\(P.path) dead list`")
        }
      }
    }
  }

  struct Delete: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "delete", abstract: "Throw dead letters away.",
        discussion: "A record of each is kept for some days."
      )
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var confirmation: Confirmation
    @OptionGroup var choice: Choice

    func run() async throws {
      try await common.run { program in
        try confirmation.ask("delete \(choice.id.map { "the dead letter \($0)" } ?? choice.text)")
        try await common.withAdmin(program) { desk in
          if let id = choice.id {
            let job = try await desk.jobs.delete(id, by: .terminal)
            return try common.output.one(Changed(items: [job.id])) { _ in job.sentence }
          }
          let line = ProgressLine()
          defer { line.clear() }
          let ids = try await desk.jobs.deadLetters.delete(.all(kind: choice.kind), by: .terminal) {
            line.show($0, of: nil, "are deleted")
          }
          line.clear()
          try common.output.one(Changed(items: ids.map(\.description))) {
            "\($0.items.count.grouped) are deleted\(choice.hint)"
          }
        }
      }
    }
  }
}
