import Foundation
import Jobs
import Redis

/// What a worker of three queues asks of Redis while there is nothing to do.
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
      // The first INFO counts itself.
      let count = try await processed(stage) - before - 1
      commands.samples.append(Double(count) / (start.duration(to: .now) / .seconds(1)))
      try await worker.stop()
    }
    return [commands]
  }

  private static func processed(_ stage: Stage) async throws -> Int {
    let text = try await stage.client.send(RedisCommand("INFO", "stats")).text ?? ""
    let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("total_commands_processed:") }
    guard let number = line?.split(separator: ":").last.flatMap({ Int($0) }) else {
      throw BenchError("Redis does not say how many commands it has processed")
    }
    return number
  }
}
