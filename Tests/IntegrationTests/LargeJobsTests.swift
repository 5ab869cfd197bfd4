import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

/// Jobs of a megabyte each, run by a separate worker process.
@Suite("Large jobs", .timeLimit(.minutes(5)))
struct LargeJobsTests {
  private static let jobs = 200
  /// The number of jobs that are pushed; the relay finds the others in the ledger.
  private static let pushed = 40

  @Test("Hundreds of a megabyte each survive FLUSHALL, run once, and the worker stays small")
  func flush() async throws {
    try await Scene.play { scene in
      let pool = scene.stack.pool
      // Incompressible text, so that the servers store and send its full size. With its number it is at most 1 MiB.
      try await pool.execute(
        """
        CREATE TABLE large_text AS
        SELECT string_agg(md5(random()::text), '') AS text FROM generate_series(1, 32766)
        """)
      try await pool.execute("CREATE TABLE large_effects (number bigint NOT NULL, length bigint NOT NULL)")
      let text = try await pool.query("SELECT text FROM large_text")[0].decode(String.self)
      for start in stride(from: 0, to: Self.pushed, by: 20) {
        let records = (start..<start + 20).map { number in
          JobRecord(
            kind: "test.large-effect", queue: Scene.effects,
            payload: Array(#"{"number":\#(number),"text":"\#(text)"}"#.utf8), isDurable: true)
        }
        _ = try await scene.stack.client.transaction { try await $0.add(records) }
      }
      // The broker has only the ids.
      let memory = try await scene.stack.broker.memory()
      #expect(memory.usedMemory < 20 << 20, "Redis uses \(memory.usedMemory) bytes")
      let numbers = Self.pushed..<Self.jobs
      try await pool.execute(
        """
        INSERT INTO jobs (queue, id, kind, version, payload)
        SELECT \(Scene.effects.rawValue), id, 'test.large-effect', 1,
          '{"number":' || number || ',"text":"' || text || '"}'
        FROM unnest(\(numbers.map { _ in PostgresUUID(JobID.next()) }),
          \(numbers.map { Int64($0) })) AS new (id, number),
          large_text
        """, timeout: .seconds(120))
      try await scene.post()
      let worker = try await scene.startWorker(concurrency: 16)
      try await eventually("jobs are done") { try await scene.effects() > Self.jobs / 20 }
      _ = try await scene.stack.redisClient.send(RedisCommand("FLUSHALL"))
      try await eventually("all jobs are done", within: .seconds(250)) { try await scene.pending() == 0 }
      try await scene.expectAllDoneOnce(Self.jobs)
      let lengths = try await scene.stack.pool.query("SELECT DISTINCT length FROM large_effects").decode(Int.self)
      #expect(lengths == [text.utf8.count])
      let peak = try peakMemory(of: worker.program.pid)
      print("large jobs: \(Self.jobs) jobs, peak of the worker \(peak) MiB")
      // The thread sanitizer needs several bytes for each one in use.
      if ProcessInfo.processInfo.environment["TSAN_OPTIONS"] == nil {
        #expect(peak <= 150, "the worker's peak is \(peak) MiB")
      }
    }
  }

  /// The peak resident memory of a process, in MiB.
  private func peakMemory(of pid: pid_t) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(line.split(separator: " ").compactMap { Int($0) }.first) / 1024
  }
}
