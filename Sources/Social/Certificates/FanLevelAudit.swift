import LibPQClient

/// Compares the kept numbers of fans by hearts, from which ranks come, with the fans that there are.
public struct FanLevelAudit: Sendable, Hashable {
  /// Levels that are kept: celebs times the numbers of hearts that their fans have given.
  public let compared: Int
  /// Levels with another number of fans than there are.
  public let wrong: Int

  public var isExact: Bool { wrong == 0 }

  /// Compares in one snapshot, whatever is written meanwhile.
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
