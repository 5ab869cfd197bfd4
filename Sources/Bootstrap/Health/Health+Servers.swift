import DurableJobsPostgres
import HiredisClient
import LibPQClient
import Migrations

extension Health.Check {
  /// The requirements of a worker: both servers, and the schema.
  public static func all(_ servers: Servers) -> [Health.Check] { postgres(servers) + [.redis(servers)] }

  /// Postgres and the schema, checked on a dedicated connection.
  public static func postgres(_ servers: Servers) -> [Health.Check] {
    let probe = PostgresProbe(servers.postgres)
    return [
      Health.Check("postgres") { _ = try await probe.query("SELECT 1") },
      Health.Check("schema") {
        try await SchemaVersion.check { query throws(PostgresError) in try await probe.query(query) }
        try await JobsSchema.standard.check { query throws(PostgresError) in try await probe.query(query) }
      },
    ]
  }

  public static func redis(_ servers: Servers) -> Health.Check {
    Health.Check("redis") { _ = try await servers.redis.send(RedisCommand("PING")) }
  }
}
