#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import LibPQClient

/// The last sample of the stack, which one process takes for all: a JSON document in one row.
extension JobsDatabase {
  /// - Returns: nil if there is none yet.
  package func latestSample() async throws -> [UInt8]? {
    try await pool.query("SELECT sample FROM \(schema.samples)").first?.decode(PostgresJSON.self).bytes
  }

  /// Stores a sample, unless a newer one is stored already.
  package func saveSample(_ json: [UInt8], at date: Date) async throws {
    try await pool.execute(
      """
      INSERT INTO \(schema.samples) AS kept (sampled_at, sample) VALUES (\(date), \(PostgresJSON(json)))
      ON CONFLICT (id) DO UPDATE SET sampled_at = excluded.sampled_at, sample = excluded.sample
      WHERE kept.sampled_at < excluded.sampled_at
      """)
  }
}
