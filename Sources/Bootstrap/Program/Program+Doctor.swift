import DurableJobsAdmin
import Foundation
import Migrations
import Social
import SocialAdmin

extension Program {
  /// What this program calls its settings and commands.
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
    terms.schedulingWorker = "a worker whose FANMILL_SCHEDULER is on"
    terms.migrate = "run `fanmill migrate up`"
    terms.restart = "in a folder of `fanmill up`: `fanmill down`, then `fanmill up`"
    return terms
  }

  /// Where pictures are stored. A folder that is not there is on another machine: nothing is said about it.
  private var pictures: [any Examination] {
    let isFolder = settings.mediaURL == nil
    if isFolder, !FileManager.default.fileExists(atPath: settings.mediaDir) { return [] }
    let place = isFolder ? settings.mediaDir : "the bucket of FANMILL_MEDIA_URL"
    return [MediaExamination(place: place) { try await withMediaStore { try await $0.check() } }]
  }

  /// Looks at the queue's servers and tables and at the app's, and speaks of this program's settings and commands.
  ///
  /// - Parameter migrations: the schema that belongs to this program; nil where its files are not there.
  public func doctor(migrations: [Migration]?, kinds: JobKinds = .app) throws -> Doctor {
    return Doctor(
      postgres: try settings.postgresConfiguration(), replica: try settings.postgresReplicaConfiguration(),
      redis: try settings.redisConfiguration(), queues: kinds.queues,
      schema: migrations.map { MigrationExamination($0) },
      more: [
        FeedPartitionExamination(), AddressExamination(), YouTubeExamination(rules: settings.lookupRules),
      ] + pictures, terms: Self.terms, logger: logger)
  }
}
