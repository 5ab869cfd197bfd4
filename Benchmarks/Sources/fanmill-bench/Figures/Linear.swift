import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import Foundation

/// Jobs that take 20 ms and no CPU time: twice the workers must do twice as many.
enum Linear {
  private static let milliseconds = 20
  private static let seconds = 4
  private static let sizes = [1, 2, 4, 8]

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var rates = sizes.map {
      Figure("20 ms jobs of \($0) worker\($0 == 1 ? "" : "s") that run \(WorkerChild.concurrency) at once", .perSecond)
    }
    var shares = sizes.dropFirst().map {
      Figure("\($0) workers over \($0) times one", .times, [.atLeast(0.95), .atMost(1.05)])
    }
    for run in 1...stage.runs {
      stage.note("linear, run \(run)")
      for (index, workers) in sizes.enumerated() {
        let rate = try await measure(stage, workers)
        rates[index].samples.append(rate)
        if index > 0 {
          shares[index - 1].samples.append(rate / (Double(workers) * rates[0].samples[run - 1]))
        }
      }
    }
    return rates + shares
  }

  /// - Returns: jobs a second while all workers run at full concurrency.
  private static func measure(_ stage: Stage, _ count: Int) async throws -> Double {
    try await stage.flush()
    let client = JobClient(broker: stage.broker, ledger: InMemoryLedger(), logger: stage.logger)
    let workers = try await stage.startWorkers(count)
    let running = count * WorkerChild.concurrency
    let jobs = running * 1000 / milliseconds * seconds
    try await client.push((0..<jobs).map { _ in Nap(milliseconds: milliseconds) })
    // From when all are running at full speed until the first find no more jobs.
    try await stage.waitForCount(jobs / 8, by: workers[0])
    let (begun, start) = (stage.board.counted, ContinuousClock.now)
    try await stage.waitForCount(jobs - 2 * running, by: workers[0])
    let (ended, end) = (stage.board.counted, ContinuousClock.now)
    try await stage.waitForCount(jobs, by: workers[0])
    try await stage.waitForEmpty()
    for worker in workers { try await worker.stop() }
    try BenchError.check("jobs done", stage.board.counted, equals: jobs)
    return Double(ended - begun) / (start.duration(to: end) / .seconds(1))
  }
}
