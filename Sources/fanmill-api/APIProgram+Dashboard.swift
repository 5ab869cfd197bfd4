import Bootstrap
import DurableJobsAdmin
import Logging
import Migrations
import Social
import SocialDashboard

extension Program {
  /// The operators' pages, closed where no admin token is set.
  func dashboard(_ servers: Servers, jobs: JobAdmin) throws -> SocialDashboard {
    let keys = settings.adminToken.map { DashboardKeys(full: $0.value, readOnly: settings.adminReadToken?.value) }
    let rankings = RankingRefresh(
      depth: settings.rankingDepth, timeZone: settings.rankingTimeZone, historyDays: settings.rankingHistory)
    let schedules = try SocialSchedules.all(feedDays: settings.feedDays, rankings: rankings)
    let doctor = try doctor(migrations: migrations(), kinds: jobs.kinds)
    return try SocialDashboard(
      SocialDashboard.Configuration(
        keys: keys, url: settings.adminURL, secrets: settings.secrets, proxies: settings.trustedProxies,
        terms: Program.terms),
      jobs: jobs, schedules: ScheduleAdmin(schedules, database: servers.database), reads: servers.reads,
      lookups: settings.lookupRules, examine: doctor.examine, logger: logger)
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
