import DurableJobs
import DurableJobsPostgres

/// The app's periodic jobs. A job enqueued by a tick may find its work already done.
public enum SocialSchedules {
  /// - Parameters:
  ///   - feedDays: how many days of posts the feeds' rows hold; 0 for all.
  ///   - feedSleepDays: days without reading after which an account's feed is no longer maintained; 0 for never.
  ///   - rankings: the job that computes a snapshot of the rankings.
  ///   - sweep: how long ended jobs are kept.
  ///   - webhookDays: how many days webhooks' events and deliveries are kept.
  public static func all(
    feedDays: Int = 90, feedSleepDays: Int = 0, rankings: RankingRefresh = RankingRefresh(),
    sweep: LedgerSweep = LedgerSweep(endedDays: 7), webhookDays: Int = 7
  ) throws(ScheduleError) -> [Schedule] {
    [
      Schedule("feed.partitions", try .every(.seconds(6 * 3600)), options: unlessPending("feed.partitions")) { _ in
        FeedPartitions(keepDays: feedDays == 0 ? nil : feedDays)
      },
      Schedule("feed.sleep", try .every(.seconds(86_400)), options: unlessPending("feed.sleep")) { _ in
        FeedSleep(days: feedSleepDays)
      },
      Schedule("sessions.sweep", try .every(.seconds(3600)), options: unlessPending("sessions.sweep")) { _ in
        SessionSweep()
      },
      Schedule("idempotency-keys.sweep", try .every(.seconds(3600)), options: unlessPending("idempotency-keys.sweep")) {
        _ in IdempotencyKeySweep()
      },
      Schedule(
        "notifications.retention", try .every(.seconds(86_400)), options: unlessPending("notifications.retention")
      ) { _ in
        NotificationRetention()
      },
      Schedule("lookups.upkeep", try .every(.seconds(3600)), options: unlessPending("lookups.upkeep")) { _ in
        LookupUpkeep()
      },
      Schedule("media.sweep", try .every(.seconds(3600)), options: unlessPending("media.sweep")) { _ in
        MediaSweep()
      },
      Schedule("media.orphans", try .every(.seconds(86_400)), options: unlessPending("media.orphans")) { _ in
        MediaOrphans()
      },
      Schedule("rankings.refresh", try .every(.seconds(600)), options: unlessPending("rankings.refresh")) { _ in
        rankings
      },
      Schedule("webhooks.sweep", try .every(.seconds(600)), options: unlessPending("webhooks.sweep")) { _ in
        WebhookSweep(days: webhookDays)
      },
      Schedule("ledger.sweep", try .every(.seconds(600)), options: unlessPending("ledger.sweep")) { _ in
        sweep
      },
    ]
  }

  /// Enqueues no job while one from an earlier tick is pending.
  private static func unlessPending(_ key: String) -> JobOptions { JobOptions(uniqueKey: key) }
}
