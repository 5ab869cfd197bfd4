/// The files of a served picture: each size in each encoding.
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

  /// The width of `full`, in pixels, upright. `PictureSize.fitted` computes every other size from it.
  public let width: Int
  /// The height of `full`, likewise.
  public let height: Int
  /// Six files.
  public let files: [File]

  /// A file's name in the folder where the pictures were made, such as `thumb.webp`.
  public static func name(_ size: PictureSize, _ encoding: PictureEncoding) -> String {
    "\(size.rawValue).\(encoding.fileExtension)"
  }

  static let names = PictureSize.allCases.flatMap { size in PictureEncoding.allCases.map { name(size, $0) } }
}
