/// The stand-in's behavior.
public struct StandInConfiguration: Sendable {
  /// Determines which channels exist.
  public var seed: UInt64 = 1
  /// The minimum duration of every response.
  public var delay: Duration = .zero
  /// The number of searches per key and day.
  public var searchBudget = 100
  /// A key's daily units for all other calls, each of which costs one.
  public var unitBudget = 10_000
  /// The valid keys; nil accepts any.
  public var keys: Set<String>?

  public init() {}
}
