/// What happens to ticks that did not fire because no scheduler was running.
public struct MissedTicks: Sendable, Hashable {
  /// The maximum number that fire, newest first.
  let limit: Int
  /// Whether they fire even if a newer tick is due as well.
  let firesBesideNewer: Bool

  /// None fires.
  public static let skip = MissedTicks(limit: 0, firesBesideNewer: false)
  /// The newest fires, unless a newer tick is due on time.
  public static let latest = MissedTicks(limit: 1, firesBesideNewer: false)
  /// All fire, up to 1,000.
  public static let all = MissedTicks.all(upTo: 1000)

  /// All fire, up to `limit`; if there are more, only the newest.
  public static func all(upTo limit: Int) -> MissedTicks {
    MissedTicks(limit: max(0, limit), firesBesideNewer: true)
  }
}
