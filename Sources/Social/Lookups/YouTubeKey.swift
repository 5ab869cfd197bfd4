import Cryptography

/// A key of the YouTube Data API. Printing it shows only its label; the key itself appears only in requests.
public struct YouTubeKey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  let value: String
  /// Identifies the key in tables, logs and reports: the first 12 hexadecimal digits of its SHA-256, which do not
  /// reveal the key.
  public let label: String

  public init(_ value: String) {
    self.value = value
    label = SHA256.hash(of: value.utf8).prefix(6).hexadecimal
  }

  public var description: String { label }
  public var debugDescription: String { label }
  public var customMirror: Mirror { Mirror(self, children: ["label": label]) }
}
