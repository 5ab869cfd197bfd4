import Foundation
import Social

/// A picture, for operators.
public struct MediaSummary: Codable, Sendable, Hashable {
  public let id: String
  /// The owner's username; nil for an upload with an upload token.
  public let owner: String?
  /// `waiting`, `ready` or `failed`.
  public let state: String
  /// In pixels, as displayed.
  public let width: Int
  public let height: Int
  /// The size of the upload.
  public let bytes: Int
  /// The size of the upload and its renditions; nil until they exist.
  public let storedBytes: Int?
  /// The number of posts and profiles that show it.
  public let uses: Int
  /// The number of pictures with the same bytes.
  public let owners: Int
  /// The location of its objects in the store.
  public let file: String?
  /// The reason for a failure.
  public let reason: String?
  public let createdAt: Date
}

/// A page of pictures, newest first.
public struct MediaPage: Codable, Sendable {
  public let items: [MediaSummary]
  /// The cursor of the next page; nil at the end.
  public let next: String?
}
