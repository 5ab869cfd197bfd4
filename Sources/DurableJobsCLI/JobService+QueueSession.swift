import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import DurableJobsService

/// A `JobService` is all that the commands need of a program: its servers, its schema and its schedules.
extension JobService: QueueSession {
  public func withDatabase(_ body: @escaping @Sendable (JobsDatabase) async throws -> Void) async throws {
    try await withDatabase { (database: JobsDatabase) -> Bool in
      try await body(database)
      return true
    }
  }

  public func withQueue(
    endures: Bool, _ body: @escaping @Sendable (JobsDatabase, RedisBroker) async throws -> Void
  ) async throws {
    try await withParts(migrating: false) { parts in
      try await body(parts.database, parts.broker)
      return true
    }
  }
}

extension QueueProgram where Session == JobService, DoctorOptions == NoOptions {
  public static func doctor(_ session: JobService, _ options: NoOptions) -> Doctor {
    Doctor(
      postgres: session.postgres, tables: session.schema, redis: session.redis, prefix: session.prefix,
      queues: kinds.queues, logger: session.logger)
  }
}
