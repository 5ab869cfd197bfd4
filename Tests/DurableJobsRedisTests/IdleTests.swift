import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import JobsTestSupport
import PrivateServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct IdleTests {
  @Test func anIdleWorkerSendsFewCommands() async throws {
    let server = try await PrivateRedis.start()
    try await RedisFixture.with(server: server) { fixture in
      let worker = Worker(
        broker: fixture.broker, ledger: InMemoryLedger(), registry: JobRegistry<InMemoryLedger>(),
        configuration: WorkerConfiguration(queues: [.default: 16, "mail": 4, "fan-out": 4]), logger: .quiet)
      try await RunningWorker.run(worker) { _ in
        try await eventually("all queues have had a heartbeat") {
          try await fixture.client.commandCounts()["xread", default: 0] >= 3
        }
        let (before, start) = (try await fixture.client.commandCounts(), ContinuousClock.now)
        // A time window, not a wait: the number of commands in it is asserted.
        try await Task.sleep(for: .seconds(4))
        let after = try await fixture.client.commandCounts()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let counts = after.map { ($0.key, $0.value - before[$0.key, default: 0]) }.filter { $0.1 > 0 }
        let count = counts.reduce(0) { $0 + $1.1 }
        #expect(count > 0)
        // Six for each of three queues' heartbeats, one for each read that waits one and a half seconds.
        #expect(Double(count) <= 20 * seconds + 10, "\(count) commands in \(seconds) s: \(counts)")
        // While the connection is the same, no heartbeat checks which server it is.
        #expect(after["get"] == before["get"])
      }
    }
    await server.stop()
  }
}
