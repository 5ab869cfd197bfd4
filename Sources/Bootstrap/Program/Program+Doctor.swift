import DurableJobsAdmin
import Foundation
import Migrations
import Social
import SocialAdmin

extension Program {
  /// This program's names for its settings and commands.
  public static var terms: DoctorTerms {
    var terms = DoctorTerms()
    terms.command = "fanmill"
    terms.postgresURL = "FANMILL_POSTGRES_URL"
    terms.replicaURL = "FANMILL_POSTGRES_REPLICA_URL"
    terms.redisURL = "FANMILL_REDIS_URL"
    terms.poolSize = "FANMILL_POSTGRES_POOL"
    terms.concurrency = "FANMILL_WORKER_CONCURRENCY"
    terms.queues = "FANMILL_QUEUES"
    terms.worker = "fanmill-worker"
    terms.schedulingWorker = "a worker with FANMILL_SCHEDULER on"
    terms.migrate = "run `fanmill migrate up`"
    terms.restart = "if `fanmill up` started it: `fanmill down`, then `fanmill up`"
    return terms
  }

  /// Checks the picture store. A missing folder is on another machine, and is not reported.
  private var pictures: [any Examination] {
    let isFolder = settings.mediaURL == nil
    if isFolder, !FileManager.default.fileExists(atPath: settings.mediaDir) { return [] }
    let place = isFolder ? settings.mediaDir : "the bucket of FANMILL_MEDIA_URL"
    return [MediaExamination(place: place) { try await withMediaStore { try await $0.check() } }]
  }

  /// The doctor, which checks the queue's and the app's servers and tables, in terms of this program's settings and
  /// commands.
  ///
  /// - Parameter migrations: this program's schema; nil if its files are missing.
  public func doctor(migrations: [Migration]?, kinds: JobKinds = .app) throws -> Doctor {
    return Doctor(
      postgres: try settings.postgresConfiguration(), replica: try settings.postgresReplicaConfiguration(),
      redis: try settings.redisConfiguration(), queues: kinds.queues,
      schema: migrations.map { MigrationExamination($0) },
      more: [
        FeedPartitionExamination(), AddressExamination(), YouTubeExamination(rules: settings.lookupRules),
        WebhookExamination(hasKey: settings.certificateKey != nil), ImportExamination(),
      ] + pictures, terms: Self.terms, logger: logger)
  }
}
