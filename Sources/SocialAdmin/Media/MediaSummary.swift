import Foundation
import Social

/// A picture, for operators.
public struct MediaSummary: Codable, Sendable, Hashable {
  public let id: String
  /// The owner's username; nil for one that came with an upload token.
  public let owner: String?
  /// `waiting`, `ready` or `failed`.
  public let state: String
  /// In pixels, as it is shown.
  public let width: Int
  public let height: Int
  /// Of the upload.
  public let bytes: Int
  /// Of the upload and all its sizes; nil until these are there.
  public let storedBytes: Int?
  /// In how many posts and profiles it is shown.
  public let uses: Int
  /// How many pictures are of the same bytes.
  public let owners: Int
  /// Where its objects are in the store.
  public let file: String?
  /// Why it failed.
  public let reason: String?
  public let createdAt: Date
}

/// A page of pictures, the newest first.
public struct MediaPage: Codable, Sendable {
  public let items: [MediaSummary]
  /// What to ask for to get the next page; nil at the end.
  public let next: String?
}
