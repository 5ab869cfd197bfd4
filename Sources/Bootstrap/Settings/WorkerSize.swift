import DurableJobs
import Social

/// A worker's concurrency per queue, and the number of connections it opens.
///
/// A job holds at most one Postgres connection at a time, so no job waits for a pool that has one per running job plus
/// the worker's own share. A lookup holds none while it waits for YouTube, nor a webhook while it waits for its receiver,
/// so four of these share one; a picture holds none while it is processed, so two share one. An unset concurrency follows from the pool, and an unset pool follows
/// from the concurrency.
public struct WorkerSize: Sendable, Hashable {
  public let concurrency: [QueueName: Int]
  /// The connections to Postgres.
  public let connections: WorkerConnections

  /// The pool size of a worker with neither concurrency nor connections set.
  public static let usualPool = 23

  /// The number of jobs it runs at once.
  public var totalConcurrency: Int { concurrency.values.reduce(0, +) }

  /// Whether no job waits for a connection.
  public var fits: Bool { connections.fits }

  /// The number of Redis connections: one shared, and one per queue to wait on. In a cluster, there is one shared
  /// connection per master.
  public var redisConnections: Int { 1 + concurrency.count }

  init(_ settings: Settings, known: [QueueName]) {
    let served = settings.queues ?? known.map { Settings.Queue(name: $0) }
    var concurrency: [QueueName: Int] = [:]
    for queue in served {
      if let set = queue.concurrency {
        concurrency[queue.name] = set
      } else if settings.isSet(.workerConcurrency) {
        concurrency[queue.name] = min(settings.workerConcurrency, Share(of: queue.name).maximum)
      }
    }
    let open = served.map(\.name).filter { concurrency[$0] == nil }
    let set = Self.connections(for: concurrency) + WorkerConnections.ownShare
    let isPoolSet = settings.isSet(.postgresPool)
    // Limits set for some queues do not reduce the others, unless the pool is set.
    let usual = isPoolSet ? 0 : open.reduce(0) { $0 + Share(of: $1).usual }
    let budget = max((isPoolSet ? settings.postgresPool : Self.usualPool) - set, usual)
    for (queue, count) in Self.deal(budget, to: open, limit: settings.workerConcurrency) { concurrency[queue] = count }
    self.concurrency = concurrency
    let jobs = Self.connections(for: concurrency)
    connections = WorkerConnections(
      pool: isPoolSet ? settings.postgresPool : WorkerConnections.pool(for: jobs), kept: Self.kept(settings),
      jobs: jobs)
  }

  /// The number of connections that running jobs use at once.
  private static func connections(for concurrency: [QueueName: Int]) -> Int {
    concurrency.reduce(0) { $0 + Share(of: $1.key).connections(for: $1.value) }
  }

  /// Connections besides the pool's: one each for the relay's leader, the worker registry, the ledger's heartbeat and
  /// the stack watch, and, where enabled, for the scheduler's leader and the health checks.
  private static func kept(_ settings: Settings) -> Int {
    5 + (settings.scheduler ? 1 : 0) + (settings.workerPort == 0 ? 0 : 1)
  }

  /// Distributes connections in proportion to the usual shares: at least one per queue, at most as many as its jobs can
  /// use.
  ///
  /// - Returns: the number of jobs per queue that share them.
  private static func deal(_ budget: Int, to queues: [QueueName], limit: Int) -> [QueueName: Int] {
    var lots = queues.map { (queue: $0, count: 1, share: Share(of: $0)) }
    for _ in lots.count..<max(lots.count, budget) {
      let open = lots.indices.filter { index in
        lots[index].count < min(lots[index].share.connections(for: limit), lots[index].share.maximum)
      }
      // The queue furthest below its usual share.
      let next = open.min { lots[$0].count * lots[$1].share.usual < lots[$1].count * lots[$0].share.usual }
      guard let next else { break }
      lots[next].count += 1
    }
    return Dictionary(
      uniqueKeysWithValues: lots.map { ($0.queue, min(limit, $0.count * $0.share.jobsPerConnection)) })
  }

  /// A queue's share of a worker, in connections.
  private struct Share {
    /// The share in a worker that serves all of the app's queues.
    let usual: Int
    /// The share beyond which jobs only wait for one another.
    let maximum: Int
    let jobsPerConnection: Int

    init(of queue: QueueName) {
      switch queue {
      case SocialJobs.fanOutQueue, SocialJobs.lookupQueue: (usual, maximum) = (4, .max)
      // A chunk keeps one Postgres CPU busy. With two chunks at once on two CPUs, small posts wait twice as long.
      case SocialJobs.bulkQueue: (usual, maximum) = (1, 1)
      case SocialJobs.notificationQueue, SocialJobs.countQueue: (usual, maximum) = (2, 2)
      case SocialJobs.rankingQueue: (usual, maximum) = (1, 2)
      case SocialJobs.pictureQueue: (usual, maximum) = (1, .max)
      default: (usual, maximum) = (2, .max)
      }
      jobsPerConnection =
        switch queue {
        case SocialJobs.lookupQueue: 4
        case SocialJobs.webhookQueue: 8
        case SocialJobs.pictureQueue: 2
        default: 1
        }
    }

    func connections(for concurrency: Int) -> Int { (concurrency + jobsPerConnection - 1) / jobsPerConnection }
  }
}

extension Settings {
  /// - Parameter known: the queues to serve if no setting names any.
  public func workerSize(known: [QueueName]) -> WorkerSize { WorkerSize(self, known: known) }
}
