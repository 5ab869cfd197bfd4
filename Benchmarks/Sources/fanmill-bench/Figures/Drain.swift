import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import HiredisClient

/// One worker process empties a queue of no-op jobs that only the broker knows.
enum Drain {
  private static let jobs = 1_000_000
  private static let rawJobs = 500_000
  private static let sidekiqJobs = 40_000

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var drain = Figure(
      "no-op jobs drained, broker only, one worker process", .perSecond, [.timesSidekiq(12), .ofRaw(0.5)])
    var memory = Figure("worker memory after 1,000,000 jobs", .megabytes, [.atMost(60)])
    var growth = Figure("its growth from 100,000 to 1,000,000 jobs", .megabytes, [.atMost(5)])
    var processor = Figure("CPU time per job", .microseconds)
    var traced = Figure("the same with spans sent to a collector, to without", .times, [.atLeast(0.9)])
    for run in 1...stage.runs {
      stage.note("drain, run \(run)")
      try await fanmill(stage, &drain, &memory, &growth, &processor)
      let plain = drain.samples.last ?? 0
      // Its rate alone is of interest.
      var (withSpans, itsMemory, itsGrowth, itsProcessor) = (drain, memory, growth, processor)
      try await fanmill(stage, &withSpans, &itsMemory, &itsGrowth, &itsProcessor, isTraced: true)
      if let rate = withSpans.samples.last { traced.samples.append(rate / plain) }
      try await stage.flush()
      _ = try Raw.add(stage.redisSocket, stream: "raw", recordSize: Enqueue.recordSize, count: rawJobs)
      drain.raw.append(try Raw.drain(stage.redisSocket, stream: "raw", count: rawJobs))
      try await stage.flush()
      try await sidekiq(stage, &drain, &memory, &processor)
    }
    return [drain, traced, memory, growth, processor]
  }

  private static func fanmill(
    _ stage: Stage, _ drain: inout Figure, _ memory: inout Figure, _ growth: inout Figure, _ processor: inout Figure,
    isTraced: Bool = false
  ) async throws {
    try await stage.flush()
    let client = JobClient(broker: stage.broker, ledger: InMemoryLedger(), logger: stage.logger)
    for low in stride(from: 0, to: jobs, by: 100_000) {
      try await client.push((low..<min(low + 100_000, jobs)).map { NoOp(number: $0) })
    }
    let sink = isTraced ? try SpanSink() : nil
    defer { sink?.stop() }
    let worker = try await stage.startWorker(collector: sink?.port)
    let start = ContinuousClock.now
    try await stage.waitForCount(100_000, by: worker)
    let early = try worker.usage()
    try await stage.waitForCount(jobs, by: worker)
    try await stage.waitForEmpty()
    let seconds = start.duration(to: .now) / .seconds(1)
    let late = try worker.usage()
    try await worker.stop()
    try BenchError.check("jobs drained", stage.board.counted, equals: jobs)
    drain.samples.append(Double(jobs) / seconds)
    memory.samples.append(late.residentMegabytes)
    growth.samples.append(late.residentMegabytes - early.residentMegabytes)
    processor.samples.append(late.processorSeconds / Double(jobs) * 1e6)
  }

  private static func sidekiq(
    _ stage: Stage, _ drain: inout Figure, _ memory: inout Figure, _ processor: inout Figure
  ) async throws {
    guard let sidekiq = stage.sidekiq else { return }
    _ = try await sidekiq.enqueue("bulk", count: sidekiqJobs)
    let worker = try await sidekiq.startWorker(total: sidekiqJobs)
    let tally = try await sidekiq.tally(of: worker, total: sidekiqJobs)
    let usage = try worker.usage()
    let left = try await stage.client.send(RedisCommand("LLEN", "queue:default")).int ?? -1
    try await worker.stop()
    try BenchError.check("jobs that Sidekiq left", left, equals: 0)
    drain.sidekiq.append(Double(sidekiqJobs) / tally.seconds)
    memory.sidekiq.append(usage.residentMegabytes)
    processor.sidekiq.append(usage.processorSeconds / Double(sidekiqJobs) * 1e6)
    try await stage.flush()
  }
}
