/// A format of pictures that uploads may have.
public enum PictureFormat: String, Hashable, Sendable, CaseIterable {
  case jpeg, png, webp, gif, heic

  public var contentType: String { "image/\(rawValue)" }

  /// The usual end of a file's name, without the dot.
  public var fileExtension: String { self == .jpeg ? "jpg" : rawValue }
}
