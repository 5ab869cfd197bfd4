/// An encoding in which a picture is served.
public enum PictureEncoding: String, Hashable, Sendable, CaseIterable {
  /// With transparency.
  case webp
  /// On white where the original is transparent; for clients without WebP support.
  case jpeg

  public var format: PictureFormat { self == .webp ? .webp : .jpeg }
  public var contentType: String { format.contentType }
  public var fileExtension: String { format.fileExtension }
}
