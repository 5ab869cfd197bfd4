import EventLoop
import Foundation
import Jobs
import JobsRedis
import Logging
import Redis

struct NoOp: Job {
  static let kind: JobKind = "bench.no-op"
  var number: Int
}

let url = CommandLine.arguments[1]
let count = Int(CommandLine.arguments[2])!
let loop = EventLoop()
var logger = Logger(label: "bench")
logger.logLevel = .warning
let client = RedisClient(configuration: try RedisConfiguration(url: url), loop: loop, logger: logger)
let log = logger
try await withThrowingTaskGroup(of: Void.self) { group in
  group.addTask { await client.run() }
  try await client.send(RedisCommand("FLUSHALL"))
  let broker = try await RedisBroker(client: client, logger: log)
  let ledger = InMemoryLedger()
  let jobs = JobClient(broker: broker, ledger: ledger, logger: log)
  let clock = ContinuousClock()
  var start = clock.now
  try await jobs.push((0..<count).map { NoOp(number: $0) })
  print("bulk push \(Double(count) / (start.duration(to: clock.now) / .seconds(1)))/s")
  // one by one from 64 tasks
  start = clock.now
  try await withThrowingTaskGroup(of: Void.self) { g in
    for _ in 0..<64 { g.addTask { for i in 0..<(count / 64) { _ = try await jobs.push(NoOp(number: i)) } } }
    try await g.waitForAll()
  }
  print("one by one \(Double(count / 64 * 64) / (start.duration(to: clock.now) / .seconds(1)))/s")
  let total = count + count / 64 * 64
  var registry = JobRegistry<InMemoryLedger>()
  registry.register(NoOp.self) { _, _ in }
  let worker = Worker(
    broker: broker, ledger: ledger, registry: registry, configuration: WorkerConfiguration(queues: ["default": 10]),
    logger: log)
  start = clock.now
  var usage = rusage()
  getrusage(0, &usage)
  let cpu0 =
    Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    / 1e6
  group.addTask { try await worker.run() }
  while true {
    let s = try await broker.statistics(of: "default")
    if s.ready + s.claimed == 0 { break }
    try await Task.sleep(for: .milliseconds(5))
  }
  let seconds = start.duration(to: clock.now) / .seconds(1)
  getrusage(0, &usage)
  let cpu1 =
    Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    / 1e6
  print(
    "drained \(total) in \(seconds): \(Double(total) / seconds)/s cpu \((cpu1 - cpu0) / Double(total) * 1e6) us/job rss \(usage.ru_maxrss / 1024) MB"
  )
  // latency
  group.cancelAll()
}
