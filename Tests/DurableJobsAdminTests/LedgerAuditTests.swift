import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import DurableJobsTesting
import Foundation
import LibPQClient
import Locking
import ProgramTestSupport
import Social
import SocialAdmin
import TestSupport
import Testing

@Suite("The ledger against the broker, and the broker against the ledger", .timeLimit(.minutes(5)))
struct LedgerAuditTests {
  /// Passes no time: each wait runs an action instead.
  private struct Meanwhile: Clock {
    let act: @Sendable (Duration) async throws -> Void
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      try await act(deadline - .now)
    }
  }

  private func audit(
    _ stack: TestStack, meanwhile act: @escaping @Sendable (Duration) async throws -> Void = { _ in }
  ) -> LedgerAudit {
    // As if a minute had passed: every job is old enough.
    LedgerAudit(
      stack.database, broker: stack.broker, queues: ["fanout", "idle"], clock: Meanwhile(act: act),
      now: { Date().addingTimeInterval(60) })
  }

  private func own(_ count: Int, _ queue: QueueName, on stack: TestStack, runAt: Int64? = nil) async throws -> [JobID] {
    let records = (0..<count).map { _ in JobRecord.test(queue: queue, runAt: runAt) }
    _ = try await stack.client.transaction { try await $0.add(records) }
    return records.map(\.id)
  }

  /// Deletes rows without ending their jobs.
  private func disown(_ ids: [JobID], on stack: TestStack) async throws {
    try await stack.pool.execute("DELETE FROM jobs WHERE id = ANY(\(ids.map { PostgresUUID($0) }))")
  }

  @Test("What the broker has and nobody owes is found: ready, delayed and claimed, among thousands that are pending")
  func leftovers() async throws {
    try await TestStack.with { stack in
      let claimed = try await own(2, "fanout", on: stack)
      let consumer = try await stack.broker.join("fanout", worker: "w", lease: .seconds(120))
      _ = try await eventual("the claims") {
        let claims = try await consumer.claim(10, wait: .milliseconds(10))
        return claims.isEmpty ? nil : claims
      }
      let ready = try await own(2500, "fanout", on: stack)
      let delayed = try await own(3, "idle", on: stack, runAt: 4_000_000_000_000)
      let elsewhere = try await own(2, "other", on: stack)
      try await stack.broker.push([.test(queue: "fanout", isDurable: false)])
      let exact = try await audit(stack) { _ in Issue.record("nothing looked left over") }.leftovers()
      #expect(exact.known >= 2507 && exact.orphaned == 0 && exact.orphanedByQueue.isEmpty)

      // Parked jobs are pending: no worker can run them, but they are not leftovers.
      try await stack.pool.execute("UPDATE jobs SET parked = true WHERE id = \(PostgresUUID(ready[9]))")
      try await disown([claimed[0], ready[0], ready[2000], delayed[1], elsewhere[0]], on: stack)
      let found = try await audit(stack).leftovers()
      #expect(found.orphanedByQueue == ["fanout": 3, "idle": 1, "other": 1])
      #expect(found.orphaned == 5)
      #expect(try await audit(stack).run().missing == 0, "the other way nothing is missing")
      try await consumer.leave()
    }
  }

  @Test("What ends while it is looked at is no leftover, nor what is pending again")
  func inFlight() async throws {
    try await TestStack.with { stack in
      let ids = try await own(4, "fanout", on: stack)
      try await disown(ids, on: stack)
      let pauses = Pauses()
      let found = try await audit(stack) { pause in
        // Acknowledged one after another, the last just in time; one is pending again, as a retried dead letter.
        switch pauses.note(pause) {
        case 1: _ = try await stack.broker.remove([ids[0]], from: "fanout")
        case 2:
          try await stack.ledger.withTransaction { transaction in
            var record = JobRecord.test(queue: "fanout")
            record.id = ids[1]
            _ = try await stack.ledger.add([record], in: transaction)
          }
        default: _ = try await stack.broker.remove([ids[2], ids[3]], from: "fanout")
        }
      }.leftovers()
      #expect(found.known == 4 && found.orphaned == 0)
      #expect(pauses.all.map { ($0 / .seconds(1)).rounded() } == [1, 2, 4])
    }
  }

  @Test("What the broker does not know is found, and pushed meanwhile it is not")
  func unknown() async throws {
    try await TestStack.with { stack in
      let ids = try await own(1500, "fanout", on: stack)
      _ = try await stack.broker.remove([ids[3], ids[1200]], from: "fanout")
      #expect(try await audit(stack).run().missingByQueue == ["fanout": 2])
      let records = try await stack.ledger.records([ids[3]], queue: "fanout")
      let later = try await audit(stack) { _ in try await stack.broker.push(records) }.run()
      #expect(later.pending == 1500 && later.missing == 1)
      #expect(try await audit(stack).leftovers().orphaned == 0)
    }
  }

  @Test("All audits in one verdict: a leftover is told apart from a job that is missing")
  func verdict() async throws {
    try await TestStack.with { stack in
      let ids = try await own(2, "fanout", on: stack)
      try await disown([ids[0]], on: stack)
      let report = try await Audit(
        stack.database, broker: stack.broker, queues: ["fanout"], store: MediaFolder(path: stack.mediaFolder),
        clock: Meanwhile { _ in }
      ).run()
      let finding = try #require(report.items.first { $0.audit == "broker" })
      #expect(finding.verdict == .wrong && finding.compared == 2 && finding.differing == 1)
      #expect(finding.advice?.contains("not pending in the ledger") == true)
      #expect(report.items.filter { $0.verdict != .exact }.map(\.audit) == ["broker"])
      #expect(report.verdict == .wrong)
    }
  }
}

/// The requested waits, in order.
private final class Pauses: Sendable {
  private let list = Locked<[Duration]>([])
  var all: [Duration] { list.withLock { $0 } }
  /// - Returns: the number of this wait, from 1.
  func note(_ pause: Duration) -> Int {
    list.withLock { list in
      list.append(pause)
      return list.count
    }
  }
}
