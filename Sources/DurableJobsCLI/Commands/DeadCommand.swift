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
      try await common.withAdmin { admin in
        let detail = try await admin.jobs.show(id)
        guard detail.job.state == .dead else {
          throw OperationError(
            .notFound, "job \(id) is not dead but \(detail.job.state.rawValue): see `\(P.path) jobs show`")
        }
        try common.output.one(detail) { $0.text }
      }
    }
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
    @OptionGroup var choice: JobChoice<P>

    func validate() throws { try choice.check() }

    func run() async throws {
      try await common.withAdmin { admin in
        if let id = choice.id {
          let job = try await admin.jobs.retryDead(id, by: .terminal)
          return try common.output.one(Changed(items: [job.id])) { _ in "\(job.id) is pending again" }
        }
        if choice.dryRun { return try await choice.count(.dead, "dead letters", admin.jobs, common.output) }
        let line = ProgressLine()
        defer { line.clear() }
        let filter = choice.conditions.filter(.dead)
        let ids = try await admin.jobs.deadLetters.retry(.all(filter), by: .terminal, rate: choice.rate) {
          line.show($0, of: nil, "pending again")
        }
        line.clear()
        try common.output.one(Changed(items: ids.map(\.description))) {
          "\($0.items.count.grouped) pending again\(choice.conditions.hint)"
        }
        if try await !admin.jobs.page(filter).items.isEmpty {
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
        try await common.withAdmin(program) { admin in
          let job = try await admin.jobs.editDead(id, payload: bytes, by: .terminal)
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
    @OptionGroup var choice: JobChoice<P>

    func validate() throws { try choice.check() }

    func run() async throws {
      try await common.run { program in
        if choice.dryRun {
          return try await common.withAdmin(program) {
            try await choice.count(.dead, "dead letters", $0.jobs, common.output)
          }
        }
        try confirmation.ask(
          "delete \(choice.id.map { "the dead letter \($0)" } ?? choice.conditions.text(of: "dead letters"))")
        try await common.withAdmin(program) { admin in
          if let id = choice.id {
            let job = try await admin.jobs.delete(id, by: .terminal)
            return try common.output.one(Changed(items: [job.id])) { _ in job.sentence }
          }
          let line = ProgressLine()
          defer { line.clear() }
          let filter = choice.conditions.filter(.dead)
          let ids = try await admin.jobs.deadLetters.delete(.all(filter), by: .terminal, rate: choice.rate) {
            line.show($0, of: nil, "deleted")
          }
          line.clear()
          try common.output.one(Changed(items: ids.map(\.description))) {
            "\($0.items.count.grouped) deleted\(choice.conditions.hint)"
          }
        }
      }
    }
  }
}
