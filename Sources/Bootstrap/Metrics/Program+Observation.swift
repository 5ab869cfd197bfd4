import CurlClient
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import Reactor
import ServiceLifecycle
import SocialAdmin

extension Program {
  /// What every process runs beside its work, so that it and the whole stack can be watched: its own figures, the
  /// stack's, and its part in taking these, giving alarms and saying how many workers are needed.
  ///
  /// - Parameter queues: that are there even if nothing is in them.
  /// - Throws: where the alarms' webhook cannot be used.
  public func observation(
    _ servers: Servers, broker: RedisBroker, kinds: JobKinds = .app
  ) throws -> [any Service] {
    var watched = StackWatch.Configuration(limits: settings.alarms)
    watched.queues = Set(kinds.queues + (settings.queues ?? []).map(\.name)).sorted()
    watched.kinds = Set(kinds.names)
    watched.gauges = AppGauges(lookups: settings.lookupRules).all
    watched.autoscaling = Autoscaling(minWorkers: settings.autoscalingLeast, maxWorkers: settings.autoscalingMost)
    let size = settings.workerSize(known: kinds.queues)
    watched.usualConcurrency = max(1, size.totalConcurrency / max(1, size.concurrency.count))
    if let url = settings.alarmWebhook {
      guard let webhook = AlarmWebhook(url: url.value, secret: settings.alarmSecret?.value) else {
        throw settings.refusal(
          of: .alarmWebhook, because: "not the URL of a server that begins with https:// or http://")
      }
      let post = AlarmPost(webhook: webhook, logger: logger)
      watched.deliver = { try await post.send($0) }
    }
    return [
      ProcessSampler(
        loops: [("redis", servers.redis.loop), ("postgres", servers.postgres.loop)], pool: servers.postgres,
        poolSize: servers.postgres.size, factory: registry),
      clockWatch(servers.database),
      StackGauges(database: servers.database, factory: registry, logger: logger),
      StackWatch(watched, database: servers.database, broker: broker, logger: logger),
    ]
  }

  /// Compares the process' clock with Postgres', and says where it is off.
  package func clockWatch(_ database: JobsDatabase) -> any Service {
    ClockWatch(
      program: name, process: "\(name)-\(JobID.next())", host: ProcessInfo.processInfo.hostName, database: database,
      factory: registry, logger: logger)
  }
}
