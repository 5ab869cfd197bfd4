/// A job was not added, because another open transaction is adding one under the same unique key.
///
/// Whether that one commits is not known yet, so neither "added" nor "there already" would be true. Nothing has been
/// decided: the same call may be made again.
public struct UniqueKeyHeld: Error, Sendable, CustomStringConvertible {
  /// The keys that were asked for; one of them is held.
  public let keys: [String]

  public init(keys: [String]) { self.keys = keys }

  /// How long a ledger waits for the other transaction to end.
  public static let limit = Duration.seconds(1)

  public var description: String {
    "another transaction is adding a job under the unique key '\(keys.sorted().joined(separator: "' or '"))' and did "
      + "not end within \(Self.limit): try again"
  }
}
