import Bootstrap
import DurableJobs
import Glibc
import HiredisClient
import LibPQClient
import Logging
import ServiceLifecycle
import Social

extension Settings {
  /// A name that no other worker has or had.
  static func newWorkerName() -> String { "\(hostName)-\(getpid())-\(JobID.next().low % 0x10000)" }

  /// How this worker works.
  func workerConfiguration(named name: String, _ size: WorkerSize) -> WorkerConfiguration {
    var configuration = WorkerConfiguration(queues: size.concurrency, name: name)
    configuration.connections = size.connections
    configuration.shutdownLimit = shutdownTimeout
    configuration.host = Self.hostName
    configuration.version = Program.version
    return configuration
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
  /// Says how much the worker does at once and over how many connections; a warning where jobs wait for one.
  func tell(_ size: WorkerSize) {
    let (concurrency, connections) = (size.totalConcurrency, size.connections)
    if size.fits {
      logger.info(
        """
        up to \(concurrency) jobs at once; at most \(connections.total) connections to Postgres, \(connections.pool) of them \
        pooled
        """)
    } else {
      logger.warning(
        """
        up to \(concurrency) jobs at once share \(connections.pool) connections to Postgres and wait for one another: leave \
        FANMILL_POSTGRES_POOL out, or set it to \(WorkerConnections.pool(for: connections.jobs))
        """)
    }
  }

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
