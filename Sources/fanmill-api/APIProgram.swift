import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import HiredisClient
import Hummingbird
import LibPQClient
import Social
import SocialAdmin
import SocialAPI

/// The HTTP API: takes what clients ask for, writes it to Postgres and owes the jobs that follow from it. Under
/// `/admin` it serves the operators' dashboard, on a port of its own where one is set.
@main
struct APIProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fanmill-api",
    abstract: "Serves the HTTP API, the dashboard, its health and its metrics until it is asked to stop.",
    discussion: """
      The dashboard is at /admin on FANMILL_ADMIN_PORT, or on the API's port where that is not set. \
      FANMILL_ADMIN_TOKEN opens it, and FANMILL_ADMIN_READ_TOKEN opens it for reading. Exits with 78 for a wrong \
      setting and with 69 where Redis or Postgres cannot be reached.
      """)

  /// How long a request waits for Redis.
  private static let patience = Duration.milliseconds(50)

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    try await Program.run("fanmill-api", options, requiring: [.postgresURL, .redisURL]) { program in
      let sendsMail = try program.settings.mail() != nil
      try await program.withServers { servers in
        let broker = try await RedisBroker(client: servers.redis, logger: program.logger)
        // One for all that asks Redis: a request that has waited for its budget in vain does not wait for its push.
        let breaker = CircuitBreaker()
        let jobs = JobClient(
          broker: broker, ledger: PostgresLedger(servers.database), patience: Self.patience, breaker: breaker,
          logger: program.logger)
        let desk = JobAdmin(jobs, kinds: .app)
        // Requests are answered without Redis: their jobs wait in the ledger.
        let health = Health(
          checks: Health.Check.postgres(servers), degrading: [.redis(servers)], registry: program.registry,
          logger: program.logger)
        let events = EventHub(pool: servers.postgres, logger: program.logger)
        let budgets =
          program.settings.limits
          ? RequestBudgets(
            limits: program.settings.requestLimits,
            buckets: TokenBuckets(
              client: servers.redis, patience: Self.patience, breaker: breaker, logger: program.logger)) : nil
        let api = SocialAPI(
          jobs: jobs, pool: servers.postgres, reads: servers.reads, hasher: PasswordHasher(), desk: desk,
          adminToken: program.settings.adminToken.map { AdminToken($0.value) },
          adminReadToken: program.settings.adminReadToken.map { AdminToken($0.value) },
          lookups: Lookups(rules: program.settings.lookupRules),
          celebLimit: program.settings.celebLimit,
          certificateKey: program.settings.certificateKey.map { CertificateKey($0.value) },
          sendsMail: sendsMail, addresses: program.settings.development ? .development : .https,
          requestTimeout: program.settings.requestTimeout, proxies: program.settings.trustedProxies, budgets: budgets,
          events: events)
        let dashboard = try program.dashboard(servers, jobs: desk)
        // Events end first when the process is asked to stop: the server waits for their streams.
        try await program.serve(
          try program.observation(servers, broker: broker) + [dashboard]
            + program.doors(api, dashboard: dashboard, health: health) + [events])
      }
    }
  }
}
