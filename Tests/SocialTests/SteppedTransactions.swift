import Foundation
@_spi(Testing) import LibPQClient
import Locking

@testable import Social

/// Two activities on one database whose transactions run one statement at a time, in an order that the test decides.
///
/// Each waits before each of its statements, COMMIT included, for an advisory lock that the test holds. The statements
/// of plpgsql functions are stepped too: `prepare` adds such waits to them.
struct SteppedTransactions: Sendable {
  typealias Body = @Sendable () async throws -> Void

  private let pool: PostgresPool
  private let control: PostgresConnection
  /// Its object identifier.
  private let database: Int

  /// Adds the waits to the database's functions.
  static func prepare(_ app: App, functions: [String]) async throws -> SteppedTransactions {
    try await app.pool.transaction { try await $0.executeScript(schema) }
    for function in functions {
      let definition = try await app.pool.query(
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = \(function)")[0].decode(String.self)
      try await app.pool.transaction { try await $0.executeScript(withWaits(definition)) }
    }
    let control = try await app.pool.dedicatedConnection()
    for actor in 0...1 {
      for parity in 0...1 {
        try await control.execute("SELECT pg_advisory_lock(\(Int32(7000 + actor)), \(Int32(parity)))")
      }
    }
    let database = try await control.query("SELECT oid::bigint FROM pg_database WHERE datname = current_database()")[0]
      .decode(Int.self)
    return SteppedTransactions(pool: app.pool, control: control, database: database)
  }

  func close() async { await control.close() }

  /// A run: which activity took each step, and which could have.
  struct Run {
    var choices: [Int] = []
    var alternatives: [[Int]] = []
    /// The errors of the two.
    var errors: [any Error] = []
  }

  /// Runs both, step by step.
  ///
  /// - Parameter choose: picks the one to step among those that can.
  func run(_ first: @escaping Body, _ second: @escaping Body, choose: (Int, [Int]) -> Int) async throws -> Run {
    try await control.execute("SELECT setval('step_0', 0, false), setval('step_1', 0, false)")
    let ends = Locked<[(any Error)?]>([nil, nil])
    let ended = Locked<[Bool]>([false, false])
    var run = Run()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (actor, body) in [first, second].enumerated() {
        group.addTask {
          let pause = StatementPause(query: "SELECT step_wait(\(Int32(actor)))", before: Self.isStep)
          do {
            try await StatementPause.$current.withValue(pause) { try await body() }
          } catch {
            ends.withLock { $0[actor] = error }
          }
          ended.withLock { $0[actor] = true }
        }
      }
      var waits = [0, 0]
      // The last step's lock. The next step's release takes it again, in the same statement.
      var passed: (Int32, Int32)?
      var ready = try await settle(ended)
      while !ready.isEmpty {
        let actor = choose(run.choices.count, ready)
        run.choices.append(actor)
        run.alternatives.append(ready)
        let key = (Int32(7000 + actor), Int32(waits[actor] % 2))
        waits[actor] += 1
        if let passed {
          try await control.execute(
            "SELECT pg_advisory_lock(\(passed.0), \(passed.1)), pg_advisory_unlock(\(key.0), \(key.1))")
        } else {
          try await control.execute("SELECT pg_advisory_unlock(\(key.0), \(key.1))")
        }
        passed = key
        ready = try await settle(ended)
      }
      if let passed { try await control.execute("SELECT pg_advisory_lock(\(passed.0), \(passed.1))") }
      try await group.waitForAll()
    }
    run.errors = ends.withLock { $0.compactMap { $0 } }
    return run
  }

  /// Waits until each has ended, waits for its next step, or waits for the other.
  ///
  /// - Returns: those that wait for their next step.
  private func settle(_ ended: Locked<[Bool]>) async throws -> [Int] {
    while true {
      let over = ended.withLock { $0 }
      let rows = try await control.query(
        """
        WITH locks AS MATERIALIZED (
          SELECT pid, classid, objsubid, granted, locktype = 'advisory' AS is_advisory, database FROM pg_locks
          WHERE locktype = 'advisory' OR NOT granted)
        SELECT marker.classid::bigint - 8000,
          coalesce(bool_or(
            waiting.is_advisory AND waiting.classid BETWEEN 7000 AND 7001 AND waiting.objsubid = 2), false),
          count(waiting.pid) > 0
        FROM locks marker LEFT JOIN locks waiting ON waiting.pid = marker.pid AND NOT waiting.granted
        WHERE marker.is_advisory AND marker.classid BETWEEN 8000 AND 8001 AND marker.objsubid = 2 AND marker.granted
          AND marker.database::bigint = \(database)
        GROUP BY marker.classid
        """
      ).decode(Int.self, Bool.self, Bool.self)
      let steps = rows.filter { $0.1 }.map { $0.0 }.sorted()
      let blocked = rows.filter { !$0.1 && $0.2 }.map { $0.0 }
      // If both are blocked, the server resolves it: one of them gets an error.
      let isSettled = (0...1).allSatisfy {
        over[$0] || steps.contains($0) || (blocked.contains($0) && blocked.count == 1)
      }
      if isSettled, !steps.isEmpty || over == [true, true] { return steps }
      // The activities need the CPU more than this check does.
      try await Task.sleep(for: .microseconds(500))
    }
  }

  /// Whether the order of this statement and the other activity's can matter. If not, it belongs to the step before it.
  @Sendable private static func isStep(_ statement: some StringProtocol) -> Bool {
    let others = [
      "\"jobs\" (", "SET LOCAL", "to_regclass", "fan_outs", "post_lock(", "UPDATE deleted_posts",
      "DELETE FROM deleted_posts",
      // These have their own steps.
      "deliver_post(", "purge_post(",
      // The end of a block; and a row that the transaction has already locked.
      "INTO high", "FROM posts WHERE id = post FOR KEY SHARE",
    ]
    return !others.contains { statement.contains($0) }
  }

  /// In these functions a statement starts on a line after one that ends a statement or opens a block.
  private static func withWaits(_ definition: String) -> String {
    let verbs = ["PERFORM ", "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "]
    var lines: [Substring] = []
    var isBetween = false
    for line in definition.split(separator: "\n", omittingEmptySubsequences: false) {
      let text = line.drop { $0 == " " }
      if text.hasPrefix("--") || text.isEmpty {
        lines.append(line)
        continue
      }
      if isBetween, verbs.contains(where: { text.hasPrefix($0) }), isStep(text) {
        lines.append("PERFORM step_wait_again();")
      }
      lines.append(line)
      isBetween = text.hasSuffix(";") || ["BEGIN", "LOOP", "THEN", "ELSE"].contains { text.hasSuffix($0) }
    }
    return lines.joined(separator: "\n")
  }

  /// A marker lock identifies each session; the test holds the locks 7000 and 7001, in turn.
  private static let schema = """
    CREATE SEQUENCE step_0 MINVALUE 0 START 0;
    CREATE SEQUENCE step_1 MINVALUE 0 START 0;
    CREATE FUNCTION step_wait(actor integer) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      parity integer := nextval('step_' || actor) % 2;
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(8000 + actor, 0);
      PERFORM set_config('step.actor', actor::text, true);
      PERFORM pg_advisory_lock_shared(7000 + actor, parity);
      PERFORM pg_advisory_unlock_shared(7000 + actor, parity);
    END $$;
    CREATE FUNCTION step_wait_again() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF coalesce(current_setting('step.actor', true), '') <> '' THEN
        PERFORM step_wait(current_setting('step.actor')::integer);
      END IF;
    END $$;
    """
}
