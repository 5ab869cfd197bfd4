import DurableJobs
import Foundation
import HiredisClient

/// The commands that an idle worker of three queues sends to Redis.
enum Idle {
  private static let seconds = 5.0

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var commands = Figure("Redis commands of an idle worker of three queues", .commandsPerSecond, [.atMost(20)])
    for run in 1...stage.runs {
      stage.note("idle, run \(run)")
      try await stage.flush()
      let worker = try await stage.startWorker(
        queues: ["default", "mail", "fan-out"], database: try stage.needDatabase())
      try await Task.sleep(for: .seconds(1))
      let before = try await processed(stage)
      let start = ContinuousClock.now
      try await Task.sleep(for: .seconds(seconds))
      // The first INFO is included in its own count.
      let count = try await processed(stage) - before - 1
      commands.samples.append(Double(count) / (start.duration(to: .now) / .seconds(1)))
      try await worker.stop()
    }
    return [commands]
  }

  private static func processed(_ stage: Stage) async throws -> Int {
    Int(try await stage.redisInfo("stats", "total_commands_processed"))
  }
}
