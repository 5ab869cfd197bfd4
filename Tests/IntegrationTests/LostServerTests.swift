import DurableJobs
import DurableJobsRedis
import HiredisClient
import LibPQClient
import PrivateServers
import ProgramTestSupport
import Social
import TestSupport
import Testing

/// Redis or Postgres stop or lose their data while posts are being fanned out.
@Suite("A server that is lost", .timeLimit(.minutes(5)))
struct LostServerTests {
  @Test("FLUSHALL in the middle of a fan-out loses nothing")
  func flush() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      // One worker is held up in its transactions, so that some jobs are claimed, some ready and some done when Redis
      // forgets.
      try await scene.askForEffects(0..<8, gate: gate)
      try await scene.askForEffects(8..<60)
      try await scene.post(rounds: 2)
      _ = try await scene.startWorker(concurrency: 4)
      _ = try await scene.startWorker(concurrency: 4)
      try await eventually("jobs are in their transactions") { try await scene.waiting(at: gate) > 0 }
      try await eventually("posts are on their way") {
        try await scene.stack.count("SELECT count(*) FROM fan_outs WHERE delivered > 0") > 0
      }
      _ = try await scene.stack.redisClient.send(RedisCommand("FLUSHALL"))
      try await scene.post()
      await gate.open()
      try await scene.expectAllDoneOnce(60)
    }
  }

  @Test("Redis away for 10 seconds, and empty when it is back: posts are taken all the while, and nothing is lost")
  func redisAway() async throws {
    try await Scene.play { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<4, gate: gate)
      try await scene.askForEffects(4..<40)
      try await scene.post()
      _ = try await scene.startWorker(concurrency: 4)
      _ = try await scene.startWorker(concurrency: 4)
      try await eventually("jobs are in their transactions") { try await scene.waiting(at: gate) > 0 }
      await scene.stack.redis.kill9()
      let away = ContinuousClock.now
      await gate.open()
      // The ledger accepts them; their push fails.
      try await scene.post()
      try await scene.askForEffects(40..<50)
      // The length of the outage; nothing is assumed to have happened during it.
      try await Task.sleep(until: away + .seconds(10))
      try await scene.stack.redis.start()
      try await scene.expectAllDoneOnce(50)
    }
  }

  @Test("Postgres ended at once (-m immediate) and started again in the middle of a fan-out")
  func postgresRestarted() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await Scene.play(server: server) { scene in
      let gate = try await Gate.closed(1, in: scene)
      try await scene.askForEffects(0..<4, gate: gate)
      try await scene.askForEffects(4..<40)
      try await scene.post(rounds: 2)
      _ = try await scene.startWorker(concurrency: 4)
      _ = try await scene.startWorker(concurrency: 4)
      try await eventually("jobs are in their transactions") { try await scene.waiting(at: gate) > 0 }
      try await eventually("posts are on their way") {
        try await scene.stack.count("SELECT count(*) FROM fan_outs") > 0
      }
      await server.stopImmediate()
      try await server.start()
      await gate.open()
      // The test's own connections are lost too.
      try await eventually("the test is connected again") {
        do { return try await scene.pending() >= 0 } catch { return false }
      }
      try await scene.expectAllDoneOnce(40)
    }
    await server.stop()
  }
}
