import Foundation
import DurableJobs
import DurableJobsPostgres
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

@testable import DurableJobsAdmin

/// The doctor's findings on workers' connections to Postgres.
@Suite(.timeLimit(.minutes(3))) struct ConnectionExaminationTests {
  private typealias Worker = WorkerConnectionRow

  private func worker(_ name: String, concurrency: Int, pool: Int) -> Worker {
    Worker(name: name, concurrency: concurrency, connections: WorkerConnections(pool: pool, kept: 6, jobs: concurrency))
  }

  @Test func slotsWithoutAConnectionAreNamed() {
    let good = worker("good", concurrency: 22, pool: 24)
    #expect(ConnectionExamination.concurrency([]).status == .ok)
    #expect(ConnectionExamination.concurrency([good]).status == .ok)
    let short = ConnectionExamination.concurrency([good, worker("short", concurrency: 71, pool: 10)])
    #expect(short.status == .warn && short.detail == "short has 71 for a pool of 10 connections")
    #expect(short.advice?.contains("set it to 73") == true, "\(short.advice ?? "")")
    // One below the worker's own need.
    #expect(ConnectionExamination.concurrency([worker("tight", concurrency: 22, pool: 23)]).status == .warn)
  }

  @Test func moreConnectionsThanTheServerGrantsAreNamed() {
    let workers = (0..<3).map { worker("w\($0)", concurrency: 22, pool: 24) }
    func room(others: Int) -> Finding {
      ConnectionExamination.room(.init(maximum: 100, reserved: 3, others: others), workers)
    }
    #expect(room(others: 7).status == .ok)
    #expect(room(others: 7).detail == "3 workers open up to 90, others have 7, of 97")
    #expect(room(others: 8).status == .warn)
    #expect(room(others: 8).advice?.hasPrefix("set max_connections to 101 or more") == true)
  }

  @Test func workersSayWhatTheyHave() async throws {
    try await TestStack.with { stack in
      let connection = try await PostgresConnection.connect(
        try PostgresConfiguration(url: stack.postgresURL), loop: .tests, logger: .quiet)
      let workers = PostgresWorkerRegistry(pool: stack.pool)
      func report(_ name: String, pool: Int?) -> WorkerReport {
        WorkerReport(
          name: name, host: "h", pid: 1, version: "1", startedAt: Date(timeIntervalSince1970: 0),
          queues: [.init(queue: "a", concurrency: 20), .init(queue: "b", concurrency: 2)],
          connections: pool.map { WorkerConnections(pool: $0, kept: 6, jobs: 22) })
      }
      func findings() async throws -> [String: Finding] {
        let found = try await connection.transaction {
          try await ConnectionExamination(schema: .standard, terms: DoctorTerms()).run(in: $0)
        }
        return Dictionary(uniqueKeysWithValues: found.map { ($0.name, $0) })
      }
      let none = try await findings()
      #expect(none["slots"]?.detail == "no worker is running")
      // A worker of a version that does not report its pool is not judged.
      _ = try await workers.heartbeat(report("silent", pool: nil))
      _ = try await workers.heartbeat(report("small", pool: 10))
      let short = try await findings()
      #expect(short["slots"]?.detail == "small has 22 for a pool of 10 connections")
      #expect(short["connections"]?.detail.hasPrefix("1 worker opens up to 16, ") == true)
      _ = try await workers.heartbeat(report("small", pool: 24))
      #expect(try await findings()["slots"]?.status == .ok, "what a worker says last holds")
      _ = try await workers.heartbeat(report("vast", pool: 100_000))
      #expect(try await findings()["connections"]?.status == .warn)
      await connection.close()
    }
  }
}
