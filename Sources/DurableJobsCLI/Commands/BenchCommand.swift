import ArgumentParser
import DurableJobsAdmin

struct BenchCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "bench", abstract: "Measure the job queue on these servers with jobs that do nothing.",
      discussion: """
        The jobs use a private queue that only this process serves, and are removed afterwards. On busy servers the \
        figures show only the spare capacity, and other work slows down meanwhile.
        """)
  }
  @OptionGroup var common: CommandOptions<P>
  @Option(help: "How many jobs.") var jobs = 20_000
  @Option(help: "How many run at once.") var concurrency = 64

  func validate() throws {
    guard 1000...10_000_000 ~= jobs else {
      throw ValidationError("--jobs is \(jobs): use a number from 1000 to 10000000")
    }
    guard 1...1000 ~= concurrency else {
      throw ValidationError("--concurrency is \(concurrency): use a number from 1 to 1000")
    }
  }

  func run() async throws {
    try await common.run { program in
      try await common.withAdmin(program) { admin in
        let line = ProgressLine()
        defer { line.clear() }
        let bench = QueueBench(
          admin.database, broker: admin.broker, jobs: jobs, concurrency: concurrency, logger: program.logger)
        let result: Result<QueueBenchReport, any Error>
        do {
          let report = try await interruptible {
            try await bench.run { progress in
              switch progress {
              case .enqueuing(let done): line.show(done, of: jobs, "enqueued")
              case .draining(let done): line.show(done, of: jobs, "done")
              case .pickingUp: line.show(1, "picking up one by one")
              }
            }
          }
          result = .success(report)
        } catch {
          result = .failure(error)
        }
        line.clear()
        try await bench.cleanUp()
        try common.output.one(try result.get()) { $0.text }
      }
    }
  }
}

extension QueueBenchReport {
  fileprivate var text: String {
    facts([
      ("enqueued one by one", "\(enqueuedSingly.rate) jobs/s, 16 callers at once"),
      ("enqueued by 1,000", "\(enqueuedInBatches.rate) jobs/s"),
      ("drained", "\(drained.rate) jobs/s, \(concurrency) at once in one process"),
      ("picked up after", "\(pickup.span), 99 of 100 within \(slowPickup.span)"),
    ])
  }
}
