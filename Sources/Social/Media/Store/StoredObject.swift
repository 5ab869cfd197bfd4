import Foundation

/// An object in a store's listing.
public struct StoredObject: Hashable, Sendable {
  public let key: MediaKey
  public let bytes: Int
  /// When it was last stored, by the store's clock.
  public let modified: Date

  public init(key: MediaKey, bytes: Int, modified: Date) {
    self.key = key
    self.bytes = bytes
    self.modified = modified
  }
}
