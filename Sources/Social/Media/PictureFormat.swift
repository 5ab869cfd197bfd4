/// A picture format accepted for uploads.
public enum PictureFormat: String, Hashable, Sendable, CaseIterable {
  case jpeg, png, webp, gif, heic

  public var contentType: String { "image/\(rawValue)" }

  /// The usual file name extension, without the dot.
  public var fileExtension: String { self == .jpeg ? "jpg" : rawValue }
}
