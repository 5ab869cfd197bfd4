import Bootstrap
import Glibc
import Jobs
import Postgres
import Redis
import ServiceLifecycle
import Social

extension Settings {
  /// A name that no other worker has or had.
  static func newWorkerName() -> String { "\(hostName)-\(getpid())-\(JobID.next().low % 0x10000)" }

  /// How this worker works.
  ///
  /// - Parameter known: the queues that the app's kinds name, served if no setting says which.
  func workerConfiguration(named name: String, known: [QueueName]) -> WorkerConfiguration {
    let served = queues ?? known.map { Queue(name: $0) }
    var configuration = WorkerConfiguration(
      queues: Dictionary(uniqueKeysWithValues: served.map { ($0.name, $0.concurrency ?? concurrency(of: $0.name)) }),
      name: name)
    configuration.shutdownLimit = shutdownTimeout
    configuration.host = Self.hostName
    configuration.version = Program.version
    return configuration
  }

  /// Queues share the connections to Postgres: what comes in many large pieces leaves half of them to the others, and what is
  /// written in batches, which wait for each other where they concern one account, most of them.
  private func concurrency(of queue: QueueName) -> Int {
    switch queue {
    case SocialJobs.bulkQueue: max(1, min(workerConcurrency, postgresPool / 2))
    case SocialJobs.notificationQueue: max(1, min(workerConcurrency, postgresPool / 4))
    case SocialJobs.countQueue, SocialJobs.rankingQueue: min(workerConcurrency, 2)
    default: workerConcurrency
    }
  }

  /// What makes a snapshot of the rankings.
  var rankingRefresh: RankingRefresh {
    RankingRefresh(depth: rankingDepth, timeZone: rankingTimeZone, historyDays: rankingHistory)
  }

  /// Where an operator who reads the worker's name would look for it.
  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "worker" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension Program {
  /// A server for health and metrics.
  func health(_ servers: Servers) -> any Service {
    Health(checks: Health.Check.all(servers), registry: registry, logger: logger)
      .service(host: settings.host, port: settings.workerPort, limits: settings.connectionLimits)
  }

  /// Writes to who has forgotten a password.
  func mailer(_ mail: Settings.Mail, _ servers: Servers) -> PasswordResetMailer {
    let post = MailPost(server: mail.server, logger: logger)
    return PasswordResetMailer(pool: servers.postgres, from: mail.from, link: mail.link) { try await post.send($0) }
  }
}
