/// What becomes of ticks that nobody could fire, because no worker ran.
public struct MissedTicks: Sendable, Hashable {
  /// How many of them fire at most, the newest ones.
  let limit: Int
  /// Whether they fire even though a newer tick is due as well.
  let firesBesideNewer: Bool

  /// None of them fires.
  public static let skip = MissedTicks(limit: 0, firesBesideNewer: false)
  /// The newest of them fires, unless a newer tick is due on time by then.
  public static let latest = MissedTicks(limit: 1, firesBesideNewer: false)
  /// All of them fire, up to 1,000.
  public static let all = MissedTicks.all(upTo: 1000)

  /// All of them fire, up to `limit`; of more, the newest.
  public static func all(upTo limit: Int) -> MissedTicks {
    MissedTicks(limit: max(0, limit), firesBesideNewer: true)
  }
}
