import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import Foundation

struct DeadCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "dead",
      abstract: "List dead letters, the jobs that are out of attempts; retry, edit or delete them.",
      subcommands: [List.self, Show.self, Retry.self, Edit.self, Delete.self])
  }

  struct List: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list", abstract: "List dead letters, the latest first.",
        discussion: "A payload search stops after many jobs and says so; the next page continues.")
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

  /// One dead letter, those that pass a filter, or all.
  struct Choice: ParsableArguments, Sendable {
    @Argument(help: "The job's id.") var id: String?
    @Option(help: "Those of this kind.", completion: .kinds(of: P.self)) var kind: String?
    @Option(help: "Those of this queue.", completion: .queues(of: P.self)) var queue: String?
    @Option(help: "Those with this in their last error, letter for letter.") var error: String?
    @Option(help: "Those that died since then: \(Moment.form).") var since: Moment?
    @Flag(help: "All of them, or all that pass the filter.") var all = false
    @Flag(help: "Count them by kind, and change nothing.") var dryRun = false
    @Option(help: "The most jobs a second.") var rate: Int?

    var filter: DeadLetters.Filter {
      DeadLetters.Filter(kind: kind, queue: queue, error: error, since: since?.date)
    }

    mutating func validate() throws {
      let isFiltered = all || filter != DeadLetters.Filter()
      guard (id != nil) != isFiltered else {
        throw ValidationError("give an ID, or a filter (--kind, --queue, --error, --since), or --all")
      }
      if id != nil, dryRun || rate != nil { throw ValidationError("--dry-run and --rate are for a filter or --all") }
      if let rate, rate < 1 { throw ValidationError("--rate is 1 or more") }
    }

    /// A suggestion if the given kind does not exist.
    var hint: String {
      guard let kind, let nearest = P.kinds.nearest(to: kind) else { return "" }
      return "; there is no kind '\(kind)': did you mean '\(nearest)'?"
    }

    var text: String {
      var text = "all dead letters"
      if let kind { text += " of kind \(kind)" }
      if let queue { text += " in \(queue)" }
      if let error { text += " with '\(error)' in their last error" }
      if let since { text += " since \(since.date.formatted(.iso8601))" }
      return text
    }

    /// Prints the numbers of a dry run.
    func count(_ dead: DeadLetters, _ output: Output) async throws {
      let counts = try await dead.counts(filter).map { Count(kind: $0.kind, count: $0.count) }
      try output.one(Counts(items: counts)) { counts in
        let total = counts.items.reduce(0) { $0 + $1.count }
        let kinds = counts.items.map { "\($0.kind) \($0.count.grouped)" }.joined(separator: ", ")
        return "\(total.grouped) dead letters\(kinds.isEmpty ? "" : ": \(kinds)")\(hint)"
      }
    }
  }

  struct Count: Encodable {
    let kind: String
    let count: Int
  }

  struct Counts: Encodable {
    let items: [Count]
  }

  struct Changed: Encodable {
    let items: [String]
  }

  struct Retry: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "retry", abstract: "Retry dead letters from their first attempt, under their old ids.")
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var choice: Choice

    func run() async throws {
      try await common.withAdmin { desk in
        if let id = choice.id {
          let job = try await desk.jobs.retryDead(id, by: .terminal)
          return try common.output.one(Changed(items: [job.id])) { _ in "\(job.id) is pending again" }
        }
        if choice.dryRun { return try await choice.count(desk.jobs.deadLetters, common.output) }
        let line = ProgressLine()
        defer { line.clear() }
        let ids = try await desk.jobs.deadLetters.retry(.all(choice.filter), by: .terminal, rate: choice.rate) {
          line.show($0, of: nil, "are pending again")
        }
        line.clear()
        try common.output.one(Changed(items: ids.map(\.description))) {
          "\($0.items.count.grouped) are pending again\(choice.hint)"
        }
        if try await !desk.jobs.deadLetters.counts(choice.filter).isEmpty {
          throw OperationError(
            .conflict, "some stay dead because jobs with their unique keys are pending; see `\(P.path) dead list`")
        }
      }
    }
  }

  struct Edit: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "edit", abstract: "Retry a dead letter with another payload, as another job.",
        discussion: "The dead letter is kept for some days as replaced, and each job's history names the other.")
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The job's id.") var id: String
    @Option(help: "The new payload as JSON, @FILE, or - for the standard input.") var payload: String

    func run() async throws {
      try await common.run { program in
        let bytes = try PayloadArgument.read(payload)
        try await common.withAdmin(program) { desk in
          let job = try await desk.jobs.editDead(id, payload: bytes, by: .terminal)
          try common.output.one(Changed(items: [job.id])) { _ in "\(job.id) is pending in place of \(id)" }
        }
      }
    }
  }

  struct Delete: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "delete", abstract: "Delete dead letters.",
        discussion: "A record of each is kept for some days."
      )
    }
    @OptionGroup var common: CommandOptions<P>
    @OptionGroup var confirmation: Confirmation
    @OptionGroup var choice: Choice

    func run() async throws {
      try await common.run { program in
        if choice.dryRun {
          return try await common.withAdmin(program) {
            try await choice.count($0.jobs.deadLetters, common.output)
          }
        }
        try confirmation.ask("delete \(choice.id.map { "the dead letter \($0)" } ?? choice.text)")
        try await common.withAdmin(program) { desk in
          if let id = choice.id {
            let job = try await desk.jobs.delete(id, by: .terminal)
            return try common.output.one(Changed(items: [job.id])) { _ in job.sentence }
          }
          let line = ProgressLine()
          defer { line.clear() }
          let ids = try await desk.jobs.deadLetters.delete(.all(choice.filter), by: .terminal, rate: choice.rate) {
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
