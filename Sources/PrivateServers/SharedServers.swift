import Glibc
import Locking

/// The servers shared by all tests of a process, started on first use and stopped with the process.
///
/// Creating a cluster takes a second and a database 30 milliseconds, so there is one cluster with one database per
/// test. A test that stops or freezes its server starts a private one instead.
public enum SharedServers {
  private static let servers = Servers()

  /// The shared Postgres cluster.
  public static func postgres() async throws -> PrivatePostgres { try await servers.postgres() }

  /// The shared Redis; each test must use separate keys.
  public static func redis() async throws -> PrivateRedis { try await servers.redis() }

  /// The URL of a new database in the shared cluster, a copy of `template`.
  public static func freshDatabase(template: String = "template1") async throws -> String {
    try await servers.freshDatabase(template: template)
  }

  /// Drops a test's database, so that the server does not keep vacuuming it.
  ///
  /// - Parameter url: as returned by `freshDatabase`. Open sessions are terminated.
  public static func drop(_ url: String) async throws {
    guard let name = url.split(separator: "/", maxSplits: 3).last?.split(separator: "?").first,
      name.hasPrefix("test_")
    else { return }
    try await servers.postgres().run("DROP DATABASE \(name) WITH (FORCE)")
  }

  /// The name of a template database created by `fill`, once per process and `name`. `fill` gets the new database's URL
  /// and creates the objects that a group of tests needs. It must close its connections before it returns.
  public static func template(_ name: String, fill: @escaping @Sendable (String) async throws -> Void) async throws
    -> String
  {
    try await servers.template(name, fill)
  }

  private actor Servers {
    private var postgresStart: Task<PrivatePostgres, any Error>?
    private var redisStart: Task<PrivateRedis, any Error>?
    private var templates: [String: Task<Void, any Error>] = [:]
    private var next = 0

    func postgres() async throws -> PrivatePostgres {
      // A task, not an await: a second caller waits for the first one's server instead of starting another.
      let start = postgresStart ?? Task { try await PrivatePostgres.start(options: .tests) }
      postgresStart = start
      return try await start.value
    }

    func redis() async throws -> PrivateRedis {
      let start = redisStart ?? Task { try await PrivateRedis.start() }
      redisStart = start
      return try await start.value
    }

    func freshDatabase(template: String) async throws -> String {
      let server = try await postgres()
      next += 1
      let name = "test_\(next)"
      // The files are in memory, so copying them takes less than half as long as copying through the log.
      try await server.run("CREATE DATABASE \(name) TEMPLATE \(template) STRATEGY file_copy")
      return server.url(database: name)
    }

    func template(_ name: String, _ fill: @escaping @Sendable (String) async throws -> Void) async throws -> String {
      let made =
        templates[name]
        ?? Task {
          let server = try await self.postgres()
          try await server.run("CREATE DATABASE \(name)")
          try await fill(server.url(database: name))
        }
      templates[name] = made
      try await made.value
      return name
    }
  }
}
