import LibPQClient
import Locking
import PrivateServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3))) struct RandomizedTests {
  private struct Deliberate: Error {}

  /// Tasks move amounts between accounts; some throw, time out, are cancelled or lose their connection. In every case
  /// the sum stays, and each transfer reported as done exists exactly once.
  @Test func transfersThatWereReportedAreThereOnceAndNothingElse() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed \(seed)")
    try await withPool(size: 5, waitLimit: .seconds(60)) { pool in
      try await pool.pipeline([
        "CREATE TABLE accounts (id int8 PRIMARY KEY, amount int8)", "CREATE TABLE transfers (id int8 PRIMARY KEY)",
        "INSERT INTO accounts SELECT n, 1000 FROM generate_series(0, 9) n",
      ])
      let done = Locked<Set<Int>>([])
      let doubtful = Locked<Set<Int>>([])
      await withTaskGroup(of: Void.self) { group in
        for worker in 0..<12 {
          group.addTask {
            var random = SeededGenerator(seed: seed &+ UInt64(worker))
            for step in 0..<40 {
              let id = worker * 1000 + step
              let accounts = (0..<10).shuffled(using: &random).prefix(2).sorted()
              let (amount, fate) = (Int.random(in: 1...50, using: &random), Int.random(in: 0..<12, using: &random))
              let spins = Int.random(in: 0..<60, using: &random)
              let task = Task {
                try await pool.transaction { tx in
                  try await tx.execute("UPDATE accounts SET amount = amount - \(amount) WHERE id = \(accounts[0])")
                  if fate == 0 { throw Deliberate() }
                  if fate == 1 { try await tx.execute("SELECT 1 / \(0)") }
                  if fate == 2 { try await tx.execute("SELECT pg_sleep(600)", timeout: .milliseconds(1)) }
                  if fate == 3 { _ = try await tx.query("SELECT pg_terminate_backend(pg_backend_pid())") }
                  try await tx.pipeline([
                    "UPDATE accounts SET amount = amount + \(amount) WHERE id = \(accounts[1])",
                    "INSERT INTO transfers VALUES (\(id))",
                  ])
                }
              }
              if fate == 4 || fate == 5 {
                for _ in 0..<spins { await Task.yield() }
                task.cancel()
              }
              do {
                try await task.value
                #expect(![0, 1, 2, 3].contains(fate))
                done.withLock { _ = $0.insert(id) }
              } catch let error as PostgresError where error.code == .outcomeUnknown {
                doubtful.withLock { _ = $0.insert(id) }
              } catch {}
            }
          }
        }
      }
      #expect(try await pool.query("SELECT sum(amount)::int8 FROM accounts")[0].decode(Int.self) == 10_000)
      let there = Set(try await pool.query("SELECT id FROM transfers").decode(Int.self))
      let certain = done.withLock { $0 }
      #expect(certain.isSubset(of: there), "seed \(seed)")
      #expect(there.subtracting(certain).isSubset(of: doubtful.withLock { $0 }), "seed \(seed)")
      let usage = await pool.usage()
      #expect(usage.leased == 0 && usage.waiting == 0)
      #expect(certain.count > 100, "most transfers go well")
    }
  }
}
