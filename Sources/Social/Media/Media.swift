import Foundation

/// An uploaded picture, as its owner sees it.
public struct Media: Sendable, Hashable {
  public enum State: String, Sendable, CaseIterable {
    /// Its sizes are being made.
    case waiting
    case ready
    /// Its bytes could not be made into a picture, and are deleted.
    case failed
  }

  public let id: MediaID
  public let state: State
  /// In pixels, as displayed; 0 for a failed picture.
  public let width: Int
  public let height: Int
  /// The size of the upload; 0 for a failed picture.
  public let bytes: Int
  /// The reason that it failed.
  public let failure: String?
  public let createdAt: Date
}

/// A picture of a post.
public struct ShownMedia: Sendable, Hashable {
  public let id: MediaID
  /// In pixels.
  public let width: Int
  public let height: Int

  /// Combines two columns of a post's row: picture ids, and a width and a height for each.
  static func list(_ ids: [String], _ dimensions: [Int32]) -> [ShownMedia] {
    ids.enumerated().compactMap { index, text in
      guard let id = MediaID(text), dimensions.count >= 2 * index + 2 else { return nil }
      return ShownMedia(id: id, width: Int(dimensions[2 * index]), height: Int(dimensions[2 * index + 1]))
    }
  }
}
