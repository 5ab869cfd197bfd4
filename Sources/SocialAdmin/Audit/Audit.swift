import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Social

/// Runs every audit: feeds, notifications and their counts, counts of likes, comments and fans, heart counts, rankings,
/// pictures and their files, the search tables, webhooks' events, leftovers of deleted accounts, the ledger against the
/// broker and the broker against the ledger.
///
/// Audits change nothing. Each compares within one snapshot, so concurrent writes do not disturb it.
public struct Audit: Sendable {
  private let database: JobsDatabase
  private let broker: RedisBroker
  private let queues: [QueueName]
  private let store: any MediaStore
  private let clock: any Clock<Duration>

  /// The number of parts that `run` has, for progress displays.
  public static let steps = 9

  /// - Parameters:
  ///   - queues: the queues to compare even without pending jobs in the ledger.
  ///   - store: the store of pictures.
  ///   - clock: measures the pause before an apparent loss is rechecked.
  public init(
    _ database: JobsDatabase, broker: RedisBroker, queues: [QueueName], store: any MediaStore,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.store = store
    self.database = database
    self.broker = broker
    self.queues = queues
    self.clock = clock
  }

  /// - Parameter progress: called before each part with the number of finished parts and the next part's name.
  public func run(progress: @Sendable (Int, String) -> Void = { _, _ in }) async throws -> AuditReport {
    var items: [AuditFinding] = []
    progress(0, "feeds")
    let feeds = try await FeedAudit.run(examples: 0, on: database.pool)
    items.append(
      AuditFinding(
        "feeds", compared: feeds.expected + feeds.stale, differing: feeds.missing + feeds.stale, pending: feeds.pending,
        advice: "`fanmill feed audit` shows them, `fanmill feed rebuild --all` repairs them"))
    progress(1, "notifications")
    items += try await notifications()
    progress(2, "counts of likes, comments and fans")
    items += try await counts()
    progress(3, "hearts and rankings")
    items += try await rankings()
    progress(4, "pictures")
    items += try await pictures()
    progress(5, "searches")
    let search = try await SearchAudit.run(on: database.pool)
    items.append(
      AuditFinding(
        "searches", compared: search.compared, differing: search.wrong, pending: 0,
        advice: "a row was written while triggers were off: `SELECT remake_search()` in psql repairs them"))
    progress(6, "accounts")
    let leftovers = try await LeftoverAudit.run(on: database.pool)
    items.append(
      AuditFinding(
        "deleted accounts", compared: leftovers.removing, differing: leftovers.rows.values.reduce(0, +), pending: 0,
        advice: """
          rows without an account: \(leftovers.rows.keys.sorted().joined(separator: ", ")); accounts were deleted \
          while triggers were off: delete the rows in psql
          """))
    progress(7, "webhooks")
    let hooks = try await WebhookAudit.run(on: database.pool)
    items.append(
      AuditFinding(
        "webhooks", compared: hooks.waiting, differing: hooks.stranded + hooks.undispatched, pending: 0,
        advice: "events without a pending job: the schedule webhooks.sweep gives them one within ten minutes"))
    progress(8, "jobs")
    let audit = LedgerAudit(database, broker: broker, queues: queues, clock: clock)
    let jobs = try await audit.run()
    items.append(
      AuditFinding(
        "jobs", compared: jobs.pending, differing: jobs.missing, pending: 0,
        advice: "unknown to the broker: a worker that serves their queues will push them again"))
    let known = try await audit.leftovers()
    items.append(
      AuditFinding(
        "broker", compared: known.known, differing: known.orphaned, pending: 0,
        advice: "not pending in the ledger: a worker that serves their queues will drop them"))
    return AuditReport(items)
  }

  private func notifications() async throws -> [AuditFinding] {
    let audit = try await NotificationAudit.run(examples: 0, on: database)
    return [
      AuditFinding(
        "notifications", compared: audit.expected + audit.stale, differing: audit.missing + audit.stale,
        pending: audit.pending, advice: "`fanmill notifications audit` shows them"),
      // Counts are written together with the counted rows, so a pending job explains no difference.
      AuditFinding(
        "notification counts", compared: audit.found, differing: audit.miscounted, pending: 0,
        advice: "`fanmill notifications audit` shows whose"),
    ]
  }

  private func pictures() async throws -> [AuditFinding] {
    let media = try await MediaAudit.run(store, on: database.pool)
    let old = media.orphaned.count { JobClock.now.timeIntervalSince($0.modified) > MediaOrphans.age }
    return [
      // Triggers maintain these counts, so a pending job explains no difference.
      AuditFinding(
        "picture counts", compared: media.compared, differing: media.miscounted, pending: 0,
        advice: "maintained by a trigger, which was disabled or bypassed"),
      AuditFinding(
        "picture files", compared: media.expected, differing: media.missing.count, pending: 0,
        advice: "missing from the store: restore them from a backup, or `fanmill media delete` the pictures"),
      AuditFinding(
        "picture store", compared: media.expected + media.orphaned.count, differing: old, pending: 0,
        advice: "objects of no picture: `fanmill media sweep` removes them"),
    ]
  }

  /// Triggers maintain these counts, so a pending job explains no difference.
  private func counts() async throws -> [AuditFinding] {
    let posts = try await PostCountAudit.run(on: database.pool)
    let levels = try await FanLevelAudit.run(on: database.pool)
    return [
      AuditFinding(
        "post counts", compared: posts.compared, differing: posts.wrong, pending: 0,
        advice: "a row was written while triggers were off: `SELECT recount_posts()` in psql repairs them"),
      AuditFinding(
        "fan levels", compared: levels.compared, differing: levels.wrong, pending: 0,
        advice: "a row was written while triggers were off: `SELECT recount_fan_levels()` in psql repairs them"),
    ]
  }

  private func rankings() async throws -> [AuditFinding] {
    let audit = try await RankingAudit.run(examples: 0, on: database)
    let advice = "`fanmill ranking audit` shows them, `fanmill ranking run --full` repairs them"
    return [
      // The audit includes hearts that are still to be counted, so they explain no difference either.
      AuditFinding(
        "heart counts", compared: audit.celebs, differing: audit.wrongCounts, pending: 0, advice: advice),
      AuditFinding("rankings", compared: audit.entries, differing: audit.wrongEntries, pending: 0, advice: advice),
    ]
  }
}
