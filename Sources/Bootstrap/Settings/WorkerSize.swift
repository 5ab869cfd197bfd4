import DurableJobs
import Social

/// How many jobs of each queue a worker runs at once, and how many connections it opens for them.
///
/// A job holds one connection to Postgres at a time, so a pool with one for each that runs at once and the worker's own
/// share keeps no job waiting. A lookup holds none while YouTube answers, so four share one; a picture none while it is
/// made, so two do. A concurrency that is not set
/// follows from the pool, and a pool that is not set follows from the concurrency.
public struct WorkerSize: Sendable, Hashable {
  public let concurrency: [QueueName: Int]
  /// To Postgres.
  public let connections: WorkerConnections

  /// The pool of a worker for which neither concurrency nor connections are set.
  public static let usualPool = 21

  /// How many jobs it runs at once.
  public var totalConcurrency: Int { concurrency.values.reduce(0, +) }

  /// Whether no job waits for a connection.
  public var fits: Bool { connections.fits }

  /// How many connections it has to Redis: one that all share, and one for each queue, on which it waits. In a cluster
  /// one is shared for each master.
  public var redisConnections: Int { 1 + concurrency.count }

  init(_ settings: Settings, known: [QueueName]) {
    let served = settings.queues ?? known.map { Settings.Queue(name: $0) }
    var concurrency: [QueueName: Int] = [:]
    for queue in served {
      if let set = queue.concurrency {
        concurrency[queue.name] = set
      } else if settings.isSet(.workerConcurrency) {
        concurrency[queue.name] = min(settings.workerConcurrency, Share(of: queue.name).most)
      }
    }
    let open = served.map(\.name).filter { concurrency[$0] == nil }
    let set = Self.connections(for: concurrency) + WorkerConnections.ownShare
    let isPoolSet = settings.isSet(.postgresPool)
    // Limits that are set for some queues take nothing from the others, unless the pool is set.
    let usual = isPoolSet ? 0 : open.reduce(0) { $0 + Share(of: $1).usual }
    let budget = max((isPoolSet ? settings.postgresPool : Self.usualPool) - set, usual)
    for (queue, count) in Self.deal(budget, to: open, most: settings.workerConcurrency) { concurrency[queue] = count }
    self.concurrency = concurrency
    let jobs = Self.connections(for: concurrency)
    connections = WorkerConnections(
      pool: isPoolSet ? settings.postgresPool : WorkerConnections.pool(for: jobs), kept: Self.kept(settings),
      jobs: jobs)
  }

  /// How many connections so many jobs use at once.
  private static func connections(for concurrency: [QueueName: Int]) -> Int {
    concurrency.reduce(0) { $0 + Share(of: $1.key).connections(for: $1.value) }
  }

  /// Connections beside the pool's: the relay's leader, the worker registry, the ledger's pulse and the stack's
  /// watch have one each, and so have the scheduler's leader and the health checks where they are switched on.
  private static func kept(_ settings: Settings) -> Int {
    5 + (settings.scheduler ? 1 : 0) + (settings.workerPort == 0 ? 0 : 1)
  }

  /// Deals connections out in the proportion of what is usual: at least one to each queue, at most as many as serve it.
  ///
  /// - Returns: how many jobs of each share them.
  private static func deal(_ budget: Int, to queues: [QueueName], most: Int) -> [QueueName: Int] {
    var lots = queues.map { (queue: $0, count: 1, share: Share(of: $0)) }
    for _ in lots.count..<max(lots.count, budget) {
      let open = lots.indices.filter { index in
        lots[index].count < min(lots[index].share.connections(for: most), lots[index].share.most)
      }
      // The one that is furthest behind what is usual.
      let next = open.min { lots[$0].count * lots[$1].share.usual < lots[$1].count * lots[$0].share.usual }
      guard let next else { break }
      lots[next].count += 1
    }
    return Dictionary(
      uniqueKeysWithValues: lots.map { ($0.queue, min(most, $0.count * $0.share.jobsPerConnection)) })
  }

  /// A queue's part in a worker, in connections.
  private struct Share {
    /// Of a worker that serves all of the app's queues.
    let usual: Int
    /// Beyond which its jobs only wait for one another.
    let most: Int
    let jobsPerConnection: Int

    init(of queue: QueueName) {
      switch queue {
      case SocialJobs.fanOutQueue, SocialJobs.lookupQueue: (usual, most) = (4, .max)
      // A chunk keeps a processor of Postgres busy. With two at once on two processors, small posts wait twice as long.
      case SocialJobs.bulkQueue: (usual, most) = (1, 1)
      case SocialJobs.notificationQueue, SocialJobs.countQueue: (usual, most) = (2, 2)
      case SocialJobs.rankingQueue: (usual, most) = (1, 2)
      case SocialJobs.pictureQueue: (usual, most) = (1, .max)
      default: (usual, most) = (2, .max)
      }
      jobsPerConnection =
        switch queue {
        case SocialJobs.lookupQueue: 4
        case SocialJobs.pictureQueue: 2
        default: 1
        }
    }

    func connections(for concurrency: Int) -> Int { (concurrency + jobsPerConnection - 1) / jobsPerConnection }
  }
}

extension Settings {
  /// - Parameter known: the queues that are served if no setting says which.
  public func workerSize(known: [QueueName]) -> WorkerSize { WorkerSize(self, known: known) }
}
