import Migrations
import Postgres
import Redis

extension Health.Check {
  /// What neither API nor worker can work without: both servers, and the schema.
  public static func all(_ servers: Servers) -> [Health.Check] {
    [
      Health.Check("postgres") { _ = try await servers.postgres.query("SELECT 1") },
      Health.Check("redis") { _ = try await servers.redis.send(RedisCommand("PING")) },
      Health.Check("schema") { try await SchemaVersion.check(servers.postgres) },
    ]
  }
}
