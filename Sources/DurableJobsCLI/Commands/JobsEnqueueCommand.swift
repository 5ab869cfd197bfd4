import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import Foundation

extension JobsCommand {
  struct Enqueue: AsyncParsableCommand, Sendable {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "enqueue", abstract: "Enqueue a job.",
        discussion: """
          The job is pending once the command returns. An unknown kind fails with status 64 and names the nearest \
          kind; a payload that does not decode, or has an unknown field, fails with 65 and names the field. With \
          --wait the command returns when the job has ended, with 1 unless it was done.
          """)
    }
    @OptionGroup var common: CommandOptions<P>
    @Argument(help: "The job's kind; `\(P.path) jobs kinds` lists them.", completion: .kinds(of: P.self)) var kind:
      String
    @Option(help: "The payload as JSON, @FILE, or - for the standard input.") var payload: String
    @Option(help: "A queue other than the kind's own.", completion: .queues(of: P.self)) var queue: String?
    @OptionGroup var due: DueTime
    @Option(help: "high, normal or low.") var priority: JobPriority = .normal
    @Option(help: "While a job with this key is pending in the queue, no other is added.") var uniqueKey: String?
    @Flag(help: "Wait until the job has ended.") var wait = false
    @Option(help: "How long to wait, \(TimeSpan.form).") var timeout = TimeSpan(seconds: 60)

    func run() async throws {
      try await common.run { program in
        let request = JobRequest(
          kind: kind, payload: try PayloadArgument.read(payload), queue: queue, priority: priority,
          runAt: try due.date(), uniqueKey: uniqueKey)
        // Reject an invalid request before connecting to a server.
        _ = try P.kinds.record(request)
        // A worker can be configured to serve any queue, so this is only a warning.
        if let queue, let warning = P.kinds.warning(queue: queue) { Output.complain(warning) }
        try await common.withAdmin(program) { admin in
          let record = try await admin.jobs.enqueue(request, by: .terminal)
          let id = record.id.description
          let queue = record.queue.rawValue
          guard wait else {
            return try common.output.one(Enqueued(id: id, kind: kind, queue: queue, state: nil)) { $0.id }
          }
          let job = try await admin.jobs.wait(for: id, limit: timeout.duration)
          try common.output.one(Enqueued(id: id, kind: kind, queue: queue, state: job.state)) { _ in job.sentence }
          guard job.state == .done else {
            throw OperationError(.failed, "job \(id) is \(job.state.rawValue)\(job.error.map { ": \($0)" } ?? "")")
          }
        }
      }
    }

    struct Enqueued: Encodable {
      let id: String
      let kind: String
      let queue: String
      /// The job's final state, if the command waited for it.
      let state: JobState?
    }
  }
}

/// A payload on the command line: the text itself, `@` and a path, or `-` for standard input.
enum PayloadArgument {
  /// - Throws: `.noInput` for a file that cannot be read; `.data` for an argument that is not text in UTF-8.
  static func read(_ argument: String) throws(OperationError) -> [UInt8] {
    guard argument.hasPrefix("@") || argument == "-" else {
      // Swift has replaced invalid bytes in the arguments, and the original text is lost.
      guard !argument.unicodeScalars.contains("\u{FFFD}") || CommandLine.argumentsAreText else {
        throw OperationError(.data, "the payload is not text in UTF-8")
      }
      return Array(argument.utf8)
    }
    let path = argument == "-" ? "-" : String(argument.dropFirst())
    do {
      let data =
        path == "-"
        ? try FileHandle.standardInput.readToEnd() ?? Data() : try Data(contentsOf: URL(fileURLWithPath: path))
      return Array(data)
    } catch {
      throw OperationError(.noInput, "the payload's file \(path) cannot be read: \(error.fileReason)")
    }
  }
}

extension CommandLine {
  /// Whether every argument was valid UTF-8 as the process received it.
  fileprivate static var argumentsAreText: Bool {
    (0..<Int(argc)).allSatisfy { number in
      unsafeArgv[number].map { String(validatingCString: $0) != nil } ?? true
    }
  }
}

extension JobPriority: ExpressibleByArgument {
  public init?(argument: String) {
    guard let priority = JobPriority.allCases.first(where: { "\($0)" == argument }) else { return nil }
    self = priority
  }

  public var defaultValueDescription: String { "\(self)" }
  public static var allValueStrings: [String] { allCases.map { "\($0)" } }
}
