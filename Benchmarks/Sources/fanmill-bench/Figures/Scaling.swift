import Foundation
import Jobs
import JobsRedis

/// One to four worker processes empty a queue of no-op jobs that only the broker knows, on one machine.
enum Scaling {
  private static let jobs = 400_000
  private static let processes = 1...4

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var drains = processes.map { count in
      Figure("no-op jobs drained, broker only, \(count) worker process\(count == 1 ? "" : "es")", .perSecond)
    }
    // What one more process changes is less than what two runs differ by: a step down that is none of its making.
    var step = Figure("least that one more process, from 1 to 4, makes of it", .times, [.atLeast(0.97)])
    var processor = Figure("Redis' processor time a job, one process", .microseconds)
    var growth = Figure("the same with four processes, over that with one", .times, [.atMost(1.1)])
    for run in 1...stage.runs {
      stage.note("scaling, run \(run)")
      var costs = [Double](repeating: 0, count: drains.count)
      // Up and down again: a machine that becomes slower or quicker meanwhile does so to all sizes alike.
      for index in Array(drains.indices) + drains.indices.reversed() {
        let (rate, cost) = try await drain(stage, processes: index + 1)
        drains[index].samples.append(rate)
        costs[index] += cost / 2
      }
      processor.samples.append(costs[0])
      growth.samples.append(costs[costs.count - 1] / costs[0])
    }
    // Of the medians: each size has runs of its own, and only they say what it does.
    let medians = drains.compactMap(\.median)
    step.samples = [zip(medians.dropFirst(), medians).map { $0 / $1 }.min() ?? .nan]
    return drains + [step, processor, growth]
  }

  /// - Returns: jobs a second from when all processes have joined, and Redis' processor time a job in microseconds.
  private static func drain(_ stage: Stage, processes: Int) async throws -> (rate: Double, cost: Double) {
    try await stage.flush()
    let client = JobClient(broker: stage.broker, ledger: InMemoryLedger(), logger: stage.logger)
    for low in stride(from: 0, to: jobs, by: 100_000) {
      try await client.push((low..<min(low + 100_000, jobs)).map { NoOp(number: $0) })
    }
    let workers = try await stage.startWorkers(processes)
    let (begun, spent) = (stage.board.counted, try await stage.redisProcessorSeconds())
    let start = ContinuousClock.now
    try await stage.waitForCount(jobs, by: workers[0])
    try await stage.waitForEmpty()
    let seconds = start.duration(to: .now) / .seconds(1)
    let cost = try await stage.redisProcessorSeconds() - spent
    for worker in workers { try await worker.stop() }
    try BenchError.check("jobs drained", stage.board.counted, equals: jobs)
    let done = Double(jobs - begun)
    return (done / seconds, cost / done * 1e6)
  }
}
