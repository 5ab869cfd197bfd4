import DurableJobs
import DurableJobsPostgres
import DurableJobsService
import LibPQClient
import Locking
import Logging
import PrivateServers
import TestSupport
import Testing

/// A worker from two URLs and a registry.
@Suite(.timeLimit(.minutes(5))) struct JobServiceTests {
  private struct Greeting: Job {
    static let kind: JobKind = "test.greeting"
    static let queue: QueueName = "greetings"
    var name: String
  }

  private static func service(
    _ database: String, _ registry: JobService.Registry, schedules: [Schedule] = []
  ) async throws -> JobService {
    var service = try JobService(
      redis: try await SharedServers.redis().url, postgres: database, registry: registry, schedules: schedules,
      logger: .quiet)
    service.prefix = "service-\(JobID.next())"
    return service
  }

  @Test func anEmptyDatabaseIsMigratedAndServed() async throws {
    let database = try await SharedServers.freshDatabase()
    let greeted = Locked<[String]>([])
    var registry = JobService.Registry()
    registry.register(Greeting.self) { job, _ in greeted.withLock { $0.append(job.name) } }
    let service = try await Self.service(
      database, registry,
      schedules: [Schedule("greet", try .every(.milliseconds(100))) { _ in Greeting(name: "scheduled") }])
    try await service.withClient { jobs in
      _ = try await jobs.enqueue(Greeting(name: "ada"))
      // Into a queue that no kind names.
      _ = try await jobs.push(Greeting(name: "bob"), options: JobOptions(queue: .default))
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await service.run() }
        try await eventually("all are greeted") { greeted.withLock { Set($0) } == ["ada", "bob", "scheduled"] }
        group.cancelAll()
      }
    }
    try await SharedServers.drop(database)
  }

  /// Other workers end the sessions of a lost one by its name.
  @Test func itsSessionsHaveTheWorkersName() async throws {
    let database = try await SharedServers.freshDatabase()
    let names = Locked<[String]>([])
    var registry = JobService.Registry()
    registry.register(Greeting.self) { _, context in
      try await context.transaction { transaction in
        let name = try await transaction.sql.query("SELECT current_setting('application_name')")[0].decode(String.self)
        names.withLock { $0.append(name) }
      }
    }
    let service = try await Self.service(database, registry)
    try await service.withClient { jobs in
      _ = try await jobs.enqueue(Greeting(name: "ada"))
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await service.run() }
        try await eventually("it has run") { names.withLock { !$0.isEmpty } }
        group.cancelAll()
      }
    }
    #expect(names.withLock { $0 } == [String(service.worker.name.prefix(63))])
    try await SharedServers.drop(database)
  }

  @Test func wrongURLsSayWhatIsWrong() throws {
    for (redis, postgres) in [("http://x", "postgres://x/y"), ("redis://x", "mysql://x/y")] {
      let error = #expect(throws: (any Error).self) {
        try JobService(redis: redis, postgres: postgres, registry: JobService.Registry())
      }
      #expect(error.map { "\($0)".contains(redis == "redis://x" ? "postgres" : "redis") } == true)
    }
  }

  @Test func aServerThatIsAwayIsAnErrorOfItsClient() async throws {
    let service = try JobService(
      redis: try await SharedServers.redis().url, postgres: "postgres://127.0.0.1:1/none?connect_timeout=1",
      registry: JobService.Registry(), logger: .quiet)
    await #expect(throws: PostgresError.self) { try await service.run() }
  }
}
