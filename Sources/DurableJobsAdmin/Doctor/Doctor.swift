import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import Logging
import Reactor

/// Checks everything that a queue depends on and reports problems.
public struct Doctor: Sendable {
  private let postgres: PostgresConfiguration
  private let tables: JobsSchema
  private let replica: PostgresConfiguration?
  private let redis: RedisConfiguration
  private let prefix: String
  private let queues: [QueueName]
  private let schema: (any Examination)?
  private let more: [any Examination]
  private let terms: DoctorTerms
  private let logger: Logger

  /// - Parameters:
  ///   - tables: the schema with the queue's tables.
  ///   - replica: the replica for reads; nil if there is none.
  ///   - prefix: the prefix of the broker's keys in Redis.
  ///   - queues: the queues that should have workers.
  ///   - schema: checks that the app's tables exist; if it fails, or the queue's tables are missing, no table is
  ///     checked.
  ///   - more: the app's own checks.
  ///   - terms: the wording of advice.
  public init(
    postgres: PostgresConfiguration, tables: JobsSchema = .standard, replica: PostgresConfiguration? = nil,
    redis: RedisConfiguration, prefix: String = RedisBroker.standardPrefix, queues: [QueueName],
    schema: (any Examination)? = nil,
    more: [any Examination] = [],
    terms: DoctorTerms = DoctorTerms(),
    logger: Logger
  ) {
    self.schema = schema
    self.more = more
    self.terms = terms
    self.postgres = postgres
    self.tables = tables
    self.prefix = prefix
    self.replica = replica
    self.redis = redis
    self.queues = queues
    self.logger = logger
  }

  /// Runs all checks and changes nothing.
  ///
  /// - Returns: the findings, in reading order. It never throws for an unreachable server: that is a finding.
  public func examine() async -> [Finding] {
    let loop = EventLoop(name: "fanmill-doctor")
    defer { loop.stop() }
    var findings = await PostgresExamination(
      configuration: postgres, tables: tables, schema: schema, more: more, terms: terms, loop: loop, logger: logger
    )
    .run()
    if let replica {
      findings += await ReplicaExamination(
        primary: postgres, replica: replica, terms: terms, loop: loop, logger: logger
      ).run()
    }
    findings += await RedisExamination(
      configuration: redis, prefix: prefix, queues: queues, terms: terms, loop: loop, logger: logger
    ).run()
    // The ledger and the broker can be compared only if both answer.
    if findings.contains(where: { $0.status == .fail }) { return findings }
    return findings
      + (await BrokerExamination(
        postgres: postgres, tables: tables, redis: redis, prefix: prefix, queues: queues, loop: loop, logger: logger
      ).run())
  }

  /// The offset between a server's clock and this machine's, from a question sent at `before` and answered at `after`.
  static func clock(_ server: String, _ time: Date, before: Date, after: Date) -> Finding {
    let here = before.addingTimeInterval(after.timeIntervalSince(before) / 2)
    let difference = time.timeIntervalSince(here)
    // The comparison itself can be off by half the round trip.
    let detail =
      "\(server)'s clock is \(seconds(abs(difference))) \(difference < 0 ? "behind" : "ahead of") this machine's"
    let advice = "synchronize both clocks with NTP: due times, leases and time-ordered ids rely on them"
    switch abs(difference) {
    case ..<1: return .ok("\(server) clock", detail)
    case ..<30: return .warn("\(server) clock", detail, advice)
    default: return .fail("\(server) clock", detail, advice)
    }
  }

  private static func seconds(_ interval: TimeInterval) -> String {
    interval < 1 ? "\(Int((interval * 1000).rounded())) ms" : "\(Int(interval.rounded())) s"
  }
}
