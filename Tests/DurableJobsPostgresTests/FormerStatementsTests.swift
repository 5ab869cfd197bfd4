import DurableJobs
import Foundation
import JobsTestSupport
import LibPQClient
import Migrations
import PrivateServers
import Testing

@testable import DurableJobsPostgres

/// Each statement of the last version has the same effect on the views as on the tables.
@Suite(.timeLimit(.minutes(3))) struct FormerStatementsTests {
  @Test func viewsTakeEveryStatementAsTheTablesDid() async throws {
    let statements = try FormerStatement.all()
    #expect(statements.count > 100)
    let template = try await SharedServers.template("former_filled") { url in
      _ = try await TestDatabase.withPool(url, connections: 2) { pool in
        try await TestDatabase.migrator(pool).up(to: TestDatabase.lastFormer)
        try await pool.withConnection { try await $0.executeScript(rows) }
      }
    }
    func effects(upgraded: Bool) async throws -> [FormerStatement.Effect] {
      try await TestDatabase.withPool(try await SharedServers.freshDatabase(template: template)) { pool in
        if upgraded { try await JobsSchema.migrate(pool) }
        var effects: [FormerStatement.Effect] = []
        try await pool.withConnection { connection in
          for statement in statements { effects.append(try await statement.run(on: connection)) }
        }
        return effects
      }
    }
    let (tables, views) = (try await effects(upgraded: false), try await effects(upgraded: true))
    var (reading, writing) = (0, 0)
    for (statement, (table, view)) in zip(statements, zip(tables, views)) {
      #expect(table.error == nil && table == view, "\(statement.text): \(table.error ?? view.error ?? "")")
      if table.affected > 0 { writing += table.changes ? 1 : 0; reading += table.changes ? 0 : 1 }
    }
    // A statement that finds no row proves little.
    #expect(reading > 60 && writing > 30, "\(reading) found rows, \(writing) changed some")
  }
}

private struct FormerStatement: Sendable {
  /// The effect of a statement.
  struct Effect: Sendable, Equatable {
    var affected = 0
    var rows = 0
    /// Whether the tables differ from before.
    var changes = false
    /// The rows of all tables afterwards, without times taken from the clock.
    var after: [String] = []
    var error: String?
  }

  /// PREPARE and the statement.
  let text: String
  /// EXECUTE with parameters.
  let call: String

  static func all() throws -> [FormerStatement] {
    let file = URL(filePath: #filePath).appending(path: "../Fixtures/former-statements.sql").standardizedFileURL
    return try String(contentsOf: file, encoding: .utf8).components(separatedBy: "DEALLOCATE s;\n").dropLast().map {
      let parts = try #require($0.firstRange(of: "PREPARE s")).lowerBound
      let text = $0[parts...]
      let call = try #require(text.ranges(of: "\nEXECUTE s").last)
      return FormerStatement(text: String(text[..<call.lowerBound]), call: text[call.lowerBound...].trimmed)
    }
  }

  /// Runs the statement in a transaction that is rolled back.
  func run(on connection: PostgresConnection) async throws -> Effect {
    var effect = Effect()
    do {
      try await connection.transaction { transaction in
        try await transaction.executeScript(text)
        let before = try await Self.contents(transaction)
        let rows = try await transaction.query(PostgresQuery(unescaped: call))
        effect.affected = rows.affected
        effect.rows = rows.count
        effect.after = try await Self.contents(transaction)
        effect.changes = effect.after != before
        throw Undone()
      }
    } catch is Undone {
      try await connection.executeScript("DEALLOCATE s")
    } catch {
      effect.error = "\(error)"
      try await connection.executeScript("DEALLOCATE ALL")
    }
    return effect
  }

  private struct Undone: Error {}

  private static func contents(_ transaction: PostgresTransaction) async throws -> [String] {
    var contents: [String] = []
    for name in FormerTables.names {
      contents += try await transaction.query(
        """
        SELECT \(name) || (to_jsonb(t) - ARRAY['seen_at', 'died_at', 'ended_at', 'asked_at', 'paused_at', 'fired_at',
          'created_at', 'at'])::text
        FROM \(PostgresIdentifier(name)) t ORDER BY 1
        """
      ).decode(String.self)
    }
    return contents
  }
}

extension StringProtocol {
  fileprivate var trimmed: String {
    trimmingCharacters(in: CharacterSet(charactersIn: ";").union(.whitespacesAndNewlines))
  }
}

/// Rows for the statements to find.
private let rows = """
  INSERT INTO jobs (queue, id, kind, version, payload, attempts, run_at, unique_key, parked, failures, refusal)
    SELECT queue, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, kind, 1, '{"post": 1}', n % 3,
      CASE n WHEN 2 THEN now() + interval '1 day' WHEN 9 THEN now() + interval '1 day' END,
      CASE n WHEN 6 THEN 'hourly' END, n IN (4, 10), CASE WHEN n IN (1, 9) THEN '[{"error": "no"}]'::jsonb END,
      CASE n WHEN 5 THEN 'unreadable' END
    FROM unnest(ARRAY['q', 'other', 'fanout', 'default']) queue, generate_series(1, 10) n,
      LATERAL (SELECT (ARRAY['posts.fan-out', 'hearts.count', 'notifications.update'])[1 + n % 3] AS kind) kinds;
  INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at, died_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'q', 'x', 1, 1, '{"heart": 1}', 3,
      '[{"error": "no"}]', now() - interval '9 days', now() - n * interval '1 day'
    FROM generate_series(1, 9) n;
  INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, created_at, state, ended_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'q', 'x', 1, 1, '{}', 3, now(),
      (ARRAY['done', 'cancelled', 'deleted'])[1 + n % 3], now() - n * interval '1 day'
    FROM generate_series(1, 9) n;
  INSERT INTO job_cancellations (id, queue, asked_at)
    SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'q', now() - n * interval '20 minutes'
    FROM generate_series(1, 9) n;
  INSERT INTO workers (name, host, pid, version, started_at, seen_at, state, queues, running, connections)
    SELECT name, 'h', 1, '1', now(), now() + seen, 'running', '[{"queue": "q", "slots": 2}]',
      '[{"id": "00000000-0000-7000-8000-000000000001", "queue": "q", "kind": "x", "attempt": 1,
        "since": 1700000000000}]',
      '{"pool": 4, "most": 9}'
    FROM (VALUES ('w', interval '1 hour'), ('v', interval '-30 minutes'), ('u', interval '-10 days')) w (name, seen);
  INSERT INTO queue_pauses (queue, paused_by) VALUES ('q', 'ann'), ('slow', 'ann');
  INSERT INTO job_minutes
    SELECT to_timestamp(1795521300) - n * interval '1 minute', queue, kind, 1, 2, 3, 4, 5
    FROM generate_series(0, 3) n, unnest(ARRAY['q', 'other']) queue, unnest(ARRAY['x', 'feed.partitions']) kind;
  INSERT INTO job_minutes VALUES (now() + interval '1 hour', 'q', 'x', 1, 2, 3, 4, 5),
    (now() + interval '1 hour', 'q', 'feed.partitions', 1, 2, 3, 4, 5),
    (now() - interval '3 days', 'q', 'x', 1, 2, 3, 4, 5);
  INSERT INTO job_hours
    SELECT date_trunc('hour', now()) - n * interval '1 day', 'q', 'x', 1, 2, 3, 4, 5 FROM generate_series(-1, 9) n;
  INSERT INTO actions (at, actor, role, action, subject, detail)
    SELECT now() - n * interval '10 days', 'ann', 'full', 'jobs.enqueue', '00000000-0000-7000-8000-000000000001',
      '{"kind": "x", "queue": "q"}'
    FROM generate_series(1, 9) n;
  INSERT INTO schedules (name, timing, kind, decided_until, next_tick)
    VALUES ('s', 'every hour', 'x', now(), now() - interval '1 day'), ('gone', 'every hour', 'x', now(), NULL);
  INSERT INTO schedule_ticks (schedule, tick, job_id)
    SELECT 's', to_timestamp(n), gen_random_uuid() FROM generate_series(1, 20) n;
  INSERT INTO alarms VALUES
    ('00000000-0000-7000-8000-000000000001', 'q', 'running', 1, 2, now(), NULL, false, false),
    ('00000000-0000-7000-8000-000000000002', 'q', 'running', 1, 2, '2025-01-01', '2025-01-02', true, false);
  INSERT INTO stack_samples (sampled_at, sample) VALUES ('1970-01-01', '{}');
  INSERT INTO process_clocks (process, program, host, ahead_ms) VALUES ('p', 'fanmill-worker', 'host', 1);
  """
