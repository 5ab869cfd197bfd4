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
import Social
import SocialAdmin

extension Program {
  /// The monitoring services of every process: metrics of itself and of the whole stack, and its share in sampling the
  /// stack, raising alarms and computing the number of workers needed.
  ///
  /// - Parameter queues: queues to report even when empty.
  /// - Throws: if the alarm webhook is unusable.
  public func observation(
    _ servers: Servers, broker: RedisBroker, kinds: JobKinds = .app
  ) throws -> [any Service] {
    var watched = StackWatch.Configuration(limits: settings.alarms)
    watched.queues = Set(kinds.queues + (settings.queues ?? []).map(\.name)).sorted()
    watched.kinds = Set(kinds.names)
    watched.gauges = AppGauges(lookups: settings.lookupRules).all
    watched.autoscaling = Autoscaling(minWorkers: settings.autoscalingMinimum, maxWorkers: settings.autoscalingMaximum)
    let size = settings.workerSize(known: kinds.queues)
    watched.usualConcurrency = max(1, size.totalConcurrency / max(1, size.concurrency.count))
    if let post = try alarmPost() { watched.deliver = { try await post.send($0) } }
    return [
      ProcessSampler(
        loops: [("redis", servers.redis.loop), ("postgres", servers.postgres.loop)], pool: servers.postgres,
        poolSize: servers.postgres.size, factory: registry),
      clockWatch(servers.database),
      StackGauges(database: servers.database, factory: registry, logger: logger),
      StackWatch(watched, database: servers.database, broker: broker, logger: logger),
    ]
  }

  /// Sends alarms to the webhook of the settings; nil for none.
  ///
  /// - Throws: if the alarm webhook is unusable.
  private func alarmPost() throws -> AlarmPost? {
    guard let url = settings.alarmWebhook else { return nil }
    guard let webhook = AlarmWebhook(url: url.value, secret: settings.alarmSecret?.value) else {
      throw settings.refusal(
        of: .alarmWebhook, because: "not the URL of a server that begins with https:// or http://")
    }
    return AlarmPost(webhook: webhook, logger: logger)
  }

  /// Sends webhooks' events; nil without a key to open their secrets with.
  ///
  /// - Parameters:
  ///   - client: with `WebhookSender.configuration(allowsPrivate:)`.
  ///   - concurrency: how many deliveries the worker makes at once.
  /// - Throws: if the alarm webhook is unusable.
  public func webhookSender(_ client: HTTPClient, concurrency: Int) throws -> WebhookSender? {
    guard let key = settings.certificateKey else { return nil }
    var alarm: WebhookSender.Alarm?
    if let post = try alarmPost() { alarm = { try await post.send(json: $0.json()) } }
    return WebhookSender(
      client: client, secrets: WebhookSecrets(secret: key.value), allowsPrivate: settings.webhooksPrivate,
      concurrency: concurrency, alarm: alarm)
  }

  /// Compares the process's clock with Postgres's, and reports an offset.
  package func clockWatch(_ database: JobsDatabase) -> any Service {
    ClockWatch(
      program: name, process: "\(name)-\(JobID.next())", host: ProcessInfo.processInfo.hostName, database: database,
      factory: registry, logger: logger)
  }
}
