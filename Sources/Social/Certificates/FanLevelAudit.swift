import LibPQClient

/// Compares the stored number of fans per heart count, which ranks are computed from, with the actual fans.
public struct FanLevelAudit: Sendable, Hashable {
  /// The number of stored levels: one per celeb and heart count.
  public let compared: Int
  /// Levels whose stored number is wrong.
  public let wrong: Int

  public var isExact: Bool { wrong == 0 }

  /// Compares in one snapshot, regardless of concurrent writes.
  public static func run(on pool: PostgresPool) async throws -> FanLevelAudit {
    try await pool.transaction(.snapshot) { transaction in
      try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
      let (kept, wrong) = try await transaction.query(
        """
        SELECT (SELECT count(*) FROM (SELECT DISTINCT celeb_id, hearts FROM celeb_fan_levels) kept),
          (SELECT count(*) FROM wrong_fan_levels)
        """, timeout: .seconds(3600))[0].decode(Int.self, Int.self)
      return FanLevelAudit(compared: max(kept, wrong), wrong: wrong)
    }
  }
}
