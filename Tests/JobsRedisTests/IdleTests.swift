import Jobs
import JobsRedis
import JobsTestSupport
import PrivateServers
import Redis
import Testing

@Suite(.timeLimit(.minutes(5))) struct IdleTests {
  private func commands(_ fixture: RedisFixture) async throws -> Int {
    let text = try await fixture.client.send(RedisCommand("INFO", "stats")).text ?? ""
    for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("total_commands_processed:") {
      return Int(line.split(separator: ":")[1]) ?? -1
    }
    return -1
  }

  @Test func anIdleWorkerSendsFewCommands() async throws {
    let server = try await PrivateRedis.start()
    try await RedisFixture.with(server: server) { fixture in
      let worker = Worker(
        broker: fixture.broker, ledger: InMemoryLedger(), registry: JobRegistry<InMemoryLedger>(),
        configuration: WorkerConfiguration(queues: [.default: 16]), logger: .quiet)
      try await RunningWorker.run(worker) { _ in
        try await eventually("the worker has joined") {
          try await fixture.broker.statistics(of: .default).workers == 1
        }
        let (before, start) = (try await commands(fixture), ContinuousClock.now)
        // A window, not a wait: what is asserted is a count in it, the commands inside scripts among them.
        try await Task.sleep(for: .seconds(4))
        let count = try await commands(fixture) - before
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        #expect(count > 0)
        #expect(Double(count) < 20 * seconds, "\(count) commands in \(seconds) s")
      }
    }
    await server.stop()
  }
}
