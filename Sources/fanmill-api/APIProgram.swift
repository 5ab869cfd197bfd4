import ArgumentParser
import Bootstrap
import Dashboard
import Hummingbird
import Jobs
import JobsPostgres
import JobsRedis
import Operations
import Postgres
import Redis
import Social
import SocialAPI

/// The HTTP API: takes what clients ask for, writes it to Postgres and owes the jobs that follow from it. Under `/admin` it serves
/// the operators' dashboard.
@main
struct APIProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fanmill-api",
    abstract: "Serves the HTTP API, the dashboard, its health and its metrics until it is asked to stop.",
    discussion: """
      The dashboard is at /admin, with FANMILL_ADMIN_TOKEN or, to look only, FANMILL_ADMIN_READ_TOKEN. Exits with 78 for a wrong \
      setting and with 69 where Redis or Postgres cannot be reached.
      """)

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    try await Program.run("fanmill-api", options, requiring: [.postgresURL, .redisURL]) { program in
      let sendsMail = try program.settings.mail() != nil
      try await program.withServers { servers in
        let broker = try await RedisBroker(client: servers.redis, logger: program.logger)
        let jobs = JobClient(
          broker: broker, ledger: PostgresLedger(pool: servers.postgres), logger: program.logger)
        let desk = JobDesk(pool: servers.postgres, broker: broker, kinds: .app, logger: program.logger)
        let health = Health(checks: Health.Check.all(servers), registry: program.registry, logger: program.logger)
        let events = EventHub(pool: servers.postgres, logger: program.logger)
        let api = SocialAPI(
          jobs: jobs, pool: servers.postgres, reads: servers.reads, hasher: PasswordHasher(), desk: desk,
          adminToken: program.settings.adminToken.map { AdminToken($0.value) },
          lookups: Lookups(rules: program.settings.lookupRules),
          celebLimit: program.settings.celebLimit,
          certificateKey: program.settings.certificateKey.map { CertificateKey($0.value) },
          sendsMail: sendsMail, events: events)
        let dashboard = try program.dashboard(servers, broker: broker, jobs: desk)
        let server = HTTPService(
          responder: Mount(
            dashboard.responder { router in
              router.add(middleware: RequestTracing())
              router.add(middleware: RequestMetrics())
            },
            beside: api.responder { health.addRoutes(to: $0) }),
          host: program.settings.host, port: program.settings.apiPort, setting: .apiPort, logger: program.logger)
        // Events end first when the process is asked to stop: the server waits for their streams.
        try await program.serve(try program.observation(servers, broker: broker) + [dashboard, server, events])
      }
    }
  }
}
