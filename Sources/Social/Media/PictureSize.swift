/// A size in which a picture is served: it fits into a square, and is never larger than the original.
public enum PictureSize: String, Hashable, Sendable, CaseIterable {
  case thumb, feed, full

  /// The longest side, in pixels.
  public var longestSide: Int {
    switch self {
    case .thumb: 320
    case .feed: 1080
    case .full: 2048
    }
  }

  /// The width and height, in pixels, of a picture of `width` × `height` in this size.
  ///
  /// - Parameters:
  ///   - width: in pixels, upright; 1 to `PictureHeader.sideLimit`.
  ///   - height: likewise.
  public func fitted(width: Int, height: Int) -> (width: Int, height: Int) {
    let longest = max(width, height)
    guard longest > longestSide else { return (width, height) }
    func scaled(_ side: Int) -> Int { max(1, (side * longestSide + longest / 2) / longest) }
    return (scaled(width), scaled(height))
  }
}
