import Bootstrap
import Dashboard
import DurableJobsRedis
import Logging
import Migrations
import Operations
import Social

extension Program {
  /// The operators' pages, closed where no admin token is set.
  func dashboard(_ servers: Servers, broker: RedisBroker, jobs: JobAdmin) throws -> Dashboard {
    let keys = settings.adminToken.map { DashboardKeys(full: $0.value, readOnly: settings.adminReadToken?.value) }
    let rankings = RankingRefresh(
      depth: settings.rankingDepth, timeZone: settings.rankingTimeZone, historyDays: settings.rankingHistory)
    let schedules = try SocialSchedules.all(feedDays: settings.feedDays, rankings: rankings)
    let migrations = migrations()
    let doctor = Doctor(
      postgres: try settings.postgresConfiguration(), replica: try settings.postgresReplicaConfiguration(),
      redis: try settings.redisConfiguration(),
      migrations: migrations ?? [], queues: jobs.kinds.queues, lookups: settings.lookupRules, logger: logger)
    return try Dashboard(
      Dashboard.Configuration(
        keys: keys, url: settings.adminURL, secrets: settings.secrets, proxies: settings.trustedProxies),
      Dashboard.Services(
        pool: servers.postgres, reads: servers.reads, redis: servers.redis, broker: broker, jobs: jobs,
        schedules: ScheduleAdmin(schedules, pool: servers.postgres), lookups: settings.lookupRules,
        examine: {
          let findings = await doctor.examine()
          return migrations == nil ? findings.filter { $0.name != "migrations" } : findings
        }), logger: logger)
  }

  /// The schema that belongs to this program; nil where its files are not beside it, so that the doctor cannot compare.
  private func migrations() -> [Migration]? {
    do {
      return try Migration.all(in: ProgramFiles.migrations())
    } catch {
      logger.debug("the dashboard does not look at migrations", metadata: ["reason": "\(error)"])
      return nil
    }
  }
}
