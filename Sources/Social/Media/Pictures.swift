/// The files that a picture is served from: each size in each encoding.
public struct Pictures: Hashable, Sendable {
  public struct File: Hashable, Sendable {
    public let size: PictureSize
    public let encoding: PictureEncoding
    /// In pixels, upright.
    public let width: Int
    /// Likewise.
    public let height: Int
    public let byteCount: Int

    public var name: String { Pictures.name(size, encoding) }
  }

  /// Of `full`, in pixels, upright. `PictureSize.fitted` makes every other size's of them.
  public let width: Int
  /// Likewise.
  public let height: Int
  /// Six.
  public let files: [File]

  /// A file's name in the folder that the pictures were made in, such as `thumb.webp`.
  public static func name(_ size: PictureSize, _ encoding: PictureEncoding) -> String {
    "\(size.rawValue).\(encoding.fileExtension)"
  }

  static let names = PictureSize.allCases.flatMap { size in PictureEncoding.allCases.map { name(size, $0) } }
}
