/// A value that may be used but not shown: printing, interpolating or dumping it yields stars.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The value itself, for the call that needs it.
  public let value: String

  public init(_ value: String) {
    self.value = value
  }

  public var description: String { "***" }
  public var debugDescription: String { "***" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
