/// How the stand-in behaves.
public struct StandInConfiguration: Sendable {
  /// Decides which channels there are.
  public var seed: UInt64 = 1
  /// How long every answer takes at least.
  public var delay: Duration = .zero
  /// How many searches a key has a day.
  public var searchBudget = 100
  /// How many units a key has a day for everything else; each call costs one.
  public var unitBudget = 10_000
  /// The keys that are known; nil takes any.
  public var keys: Set<String>?

  public init() {}
}
