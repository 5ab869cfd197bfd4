/// A job was not added, because another open transaction is adding one with the same unique key.
///
/// Whether that transaction commits is unknown, so neither "added" nor "already pending" would be true. Nothing has
/// been decided: the caller may retry.
public struct UniqueKeyHeld: Error, Sendable, CustomStringConvertible {
  /// The requested keys, at least one of which is held.
  public let keys: [String]

  public init(keys: [String]) { self.keys = keys }

  /// How long a ledger waits for the other transaction to end.
  public static let limit = Duration.seconds(1)

  public var description: String {
    "another transaction is adding a job under the unique key '\(keys.sorted().joined(separator: "' or '"))' and did "
      + "not end within \(Self.limit): try again"
  }
}
