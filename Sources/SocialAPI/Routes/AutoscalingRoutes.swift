import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import Hummingbird
import LibPQClient

/// `autoscaling`: for programs that start and stop workers, such as KEDA's metrics-api scaler, with an operators'
/// token.
struct AutoscalingRoutes: Sendable {
  let database: JobsDatabase

  func add(to group: RouterGroup<APIContext>) {
    group.on(.readAutoscaling, use: show)
  }

  private struct Wanted: Encodable {
    let queue: String
    /// The number of workers the queue needs.
    let workers: Int
    /// The number of workers that serve it.
    let serving: Int
    let ready: Int
    /// Jobs per second.
    let arrivalRate: Double
    /// Seconds; null until a job has finished.
    let runTime: Nullable<Double>
    let sampledAt: Date
  }

  /// - Throws: `unknown_queue`; `not_sampled` if the last sample is over a minute old, so that stale data never drives
  ///   scaling.
  @Sendable private func show(_ request: Request, _ context: APIContext) async throws -> Answer {
    try context.requireOperator()
    let name = try context.parameter("queue")
    guard let sample = try await StackSample.latest(in: database),
      JobClock.now.timeIntervalSince(sample.at) < StackSample.freshness
    else {
      throw Problem(
        .serviceUnavailable, "not_sampled",
        "the queues have not been sampled for a minute: check that an API or a worker runs and reaches Redis and "
          + "Postgres",
        retryAfter: 10)
    }
    guard let queue = sample.queues.first(where: { $0.queue == name }) else {
      throw Problem(
        .notFound, "unknown_queue",
        "unknown queue '\(name)'; known queues: \(sample.queues.map(\.queue).joined(separator: ", "))")
    }
    return try Answer(
      .ok,
      Wanted(
        queue: queue.queue, workers: queue.wanted, serving: queue.workers, ready: queue.ready,
        arrivalRate: queue.load.arrivalRate, runTime: Nullable(queue.load.runTime), sampledAt: sample.at))
  }
}
