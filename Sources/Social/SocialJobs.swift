import DurableJobs
import DurableJobsPostgres

/// The app's job kinds.
public enum SocialJobs {
  /// Post fan-outs. Each job is short.
  public static let fanOutQueue: QueueName = "fanout"
  /// Bulk work in many pieces, kept apart so that it never delays other queues.
  public static let bulkQueue: QueueName = "fanout-bulk"
  /// Notifications for accounts.
  public static let notificationQueue: QueueName = "notifications"
  /// Counting hearts and fans, in batches.
  public static let countQueue: QueueName = "hearts"
  /// Computing rankings from the counts.
  public static let rankingQueue: QueueName = "rankings"

  /// Mail, which waits for a mail server.
  public static let mailQueue: QueueName = "mail"

  /// YouTube lookups, kept apart so that nothing else waits for their responses.
  public static let lookupQueue: QueueName = "lookups"

  /// Making pictures, which takes a CPU for about a second. A worker without the programs for it does not serve this
  /// queue.
  public static let pictureQueue: QueueName = "pictures"

  /// Events for other servers, kept apart so that nothing else waits for those servers.
  public static let webhookQueue: QueueName = "webhooks"

  /// Registers the app's kinds for a worker, or for a process that only checks payloads.
  ///
  /// - Parameters:
  ///   - youtube: for a worker that runs lookups.
  ///   - mailer: for a worker that sends mail.
  ///   - store: for a worker that cleans up stored pictures.
  ///   - studio: for a worker that makes pictures.
  ///   - cards: for a worker that draws certificate cards.
  ///   - webhooks: for a worker that sends events to hooks.
  public static func register(
    in registry: inout JobRegistry<PostgresLedger>, youtube: YouTube? = nil, mailer: Mailer? = nil,
    store: (any MediaStore)? = nil, studio: PictureStudio? = nil, cards: CardStudio? = nil,
    webhooks: WebhookSender? = nil
  ) {
    registry.registerTransaction(PostFanOut.self) { try await $0.run(in: $1) }
    registry.registerTransaction(PostFanOutChunk.self) { try await $0.run(in: $1.sql) }
    registry.registerTransaction(RemovePostFromFeeds.self) { try await $0.run(in: $1) }
    registry.registerTransaction(RemovePostFromFeedsChunk.self) { try await $0.run(in: $1.sql) }
    registry.registerTransaction(FeedBackfill.self) { try await $0.run(in: $1) }
    registry.registerTransaction(FeedSleep.self) { try await $0.run(in: $1) }
    registry.registerTransaction(FeedRefill.self) { try await $0.run(in: $1) }
    registry.registerTransaction(FeedPartitions.self) { try await $0.run(in: $1) }
    registry.register(FeedPartitionTrim.self, handler: FeedPartitionTrim.run)
    registry.registerBatch(
      NotificationUpdate.self, upTo: NotificationUpdate.batchLimit, handler: NotificationUpdate.run)
    registry.registerTransaction(NotificationRetention.self) { try await $0.run(in: $1) }
    registry.registerTransaction(NotificationTrim.self) { try await $0.run(in: $1) }
    registry.registerTransaction(DeletePostReactions.self) { try await $0.run(in: $1) }
    registry.registerTransaction(SessionSweep.self) { try await $0.run(in: $1) }
    registry.registerTransaction(IdempotencyKeySweep.self) { try await $0.run(in: $1) }
    registry.register(PasswordResetMail.self) { try await $0.run(mailer, $1) }
    registry.register(EmailConfirmationMail.self) { try await $0.run(mailer, $1) }
    registry.register(EmailChangeNotice.self) { try await $0.run(mailer, $1) }
    registry.register(NoticeMail.self) { try await $0.run(mailer, $1) }
    registry.register(AccountExport.self) { try await $0.run(store, $1) }
    registry.register(AccountExportMail.self) { try await $0.run(mailer, $1) }
    registry.register(DeletionMail.self) { try await $0.run(mailer, $1) }
    registry.registerTransaction(AccountRemoval.self) { try await $0.run(in: $1) }
    registry.registerLookups(youtube)
    registry.register(PictureSizes.self) { try await $0.run(studio, $1) }
    registry.register(CertificateCard.self) { try await $0.run(cards, $1) }
    registry.register(MediaRemoval.self) { try await $0.run(store, $1) }
    registry.registerTransaction(MediaSweep.self) { try await $0.run(in: $1) }
    registry.register(MediaOrphans.self) { try await $0.run(store, $1) }
    registry.registerBatch(HeartCount.self, upTo: 1000, handler: HeartCount.run)
    registry.registerBatch(FanCount.self, upTo: 1000, handler: FanCount.run)
    registry.registerTransaction(RankingRefresh.self) { _ = try await $0.run(in: $1.sql) }
    registry.registerBatch(WebhookDispatch.self, upTo: WebhookDispatch.batchLimit, handler: WebhookDispatch.runAll)
    registry.register(WebhookDelivery.self) { try await $0.run(webhooks, $1) }
    registry.register(WebhookAlarm.self) { try await $0.run(webhooks, $1) }
    registry.registerTransaction(WebhookSweep.self) { try await $0.run(in: $1) }
    registry.register(LedgerSweep.self, handler: LedgerSweep.run)
  }
}
