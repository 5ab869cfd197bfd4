import DurableJobsAdmin

extension AlarmLimits {
  /// The app's limits: a post reaches its followers within seconds, while bulk work may wait.
  public static let app = AlarmLimits(
    Times(waiting: .seconds(60), running: .seconds(600)),
    queues: [
      "fanout": Times(waiting: .seconds(10)), "fanout-bulk": Times(waiting: .seconds(300)),
      "lookups": Times(waiting: .seconds(600)),
      "rankings": Times(waiting: .seconds(600), running: .seconds(1800)), "webhooks": Times(waiting: .seconds(300)),
    ])
}
