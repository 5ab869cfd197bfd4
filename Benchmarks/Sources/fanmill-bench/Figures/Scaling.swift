import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import Foundation

/// One to four worker processes empty a queue of no-op jobs that only the broker knows, on one machine.
enum Scaling {
  private static let jobs = 200_000
  private static let processes = 1...4

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var drains = processes.map { count in
      Figure("no-op jobs drained, broker only, \(count) worker process\(count == 1 ? "" : "es")", .perSecond)
    }
    // The effect of one more process is smaller than the difference between two runs, so this figure can fall by
    // chance.
    var least = Figure("smallest speedup from adding one process, 1 to 4", .times, [.atLeast(0.97)])
    var broker = Cost("Redis' CPU time per job, one process", bound: .atMost(1.1))
    var worker = Cost("the processes' own CPU time per job, one process", bound: nil)
    // The ratios of neighboring sizes, measured one right after the other.
    var steps = [[Double]](repeating: [], count: drains.count - 1)
    for run in 1...stage.runs {
      stage.note("scaling, run \(run)")
      // Up and down again, so that a machine that changes speed affects all sizes alike.
      let up = Array(drains.indices)
      for order in [up, up.reversed(), up, up.reversed()] {
        var drained: [Drained] = .init(repeating: Drained(), count: drains.count)
        for index in order {
          drained[index] = try await drain(stage, processes: index + 1)
          drains[index].samples.append(drained[index].rate)
        }
        for (index, (one, more)) in zip(drained, drained.dropFirst()).enumerated() {
          steps[index].append(more.rate / one.rate)
        }
        broker.add(drained.map(\.broker))
        worker.add(drained.map(\.workers))
      }
    }
    least.samples = [steps.compactMap(Figure.median).min() ?? .nan]
    return drains + [least, broker.one, broker.growth, worker.one, worker.growth]
  }

  /// A cost with one process, and its ratio with four.
  private struct Cost {
    var one: Figure
    var growth: Figure

    init(_ title: String, bound: Bound?) {
      one = Figure(title, .microseconds)
      growth = Figure("the same with four processes, over that with one", .times, bound.map { [$0] } ?? [])
    }

    mutating func add(_ costs: [Double]) {
      one.samples.append(costs[0])
      growth.samples.append(costs[costs.count - 1] / costs[0])
    }
  }

  /// The measurements of one drained queue.
  private struct Drained {
    /// Jobs a second, once all processes have joined.
    var rate = 0.0
    /// CPU time per job in microseconds, of Redis and of all processes.
    var (broker, workers) = (0.0, 0.0)
  }

  private static func drain(_ stage: Stage, processes: Int) async throws -> Drained {
    try await stage.flush()
    let client = JobClient(broker: stage.broker, ledger: InMemoryLedger(), logger: stage.logger)
    for low in stride(from: 0, to: jobs, by: 100_000) {
      try await client.push((low..<min(low + 100_000, jobs)).map { NoOp(number: $0) })
    }
    let workers = try await stage.startWorkers(processes)
    func workerSeconds() throws -> Double { try workers.map { try $0.usage().processorSeconds }.reduce(0, +) }
    let (begun, before) = (stage.board.counted, (try await stage.redisProcessorSeconds(), try workerSeconds()))
    let start = ContinuousClock.now
    try await stage.waitForCount(jobs, by: workers[0])
    try await stage.waitForEmpty()
    let seconds = start.duration(to: .now) / .seconds(1)
    let after = (try await stage.redisProcessorSeconds(), try workerSeconds())
    for worker in workers { try await worker.stop() }
    try BenchError.check("jobs drained", stage.board.counted, equals: jobs)
    let done = Double(jobs - begun)
    return Drained(
      rate: done / seconds, broker: (after.0 - before.0) / done * 1e6, workers: (after.1 - before.1) / done * 1e6)
  }
}
