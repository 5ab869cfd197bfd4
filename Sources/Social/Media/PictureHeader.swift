/// What the first bytes of a picture say: its format and its size. Names and Content-Type count for nothing.
///
/// A few hundred bytes are read, whatever the file's size. The rest may still be damaged: only decoding shows that.
public struct PictureHeader: Hashable, Sendable {
  /// The most pixels that a picture may have: what a decoder can hold within `PictureWorkshop`'s limit of memory.
  public static let pixelLimit = 40_000_000
  /// The longest side that a picture may have, in pixels.
  public static let sideLimit = 65_535

  public let format: PictureFormat
  /// In pixels as they are stored: an orientation that turns the picture is not applied.
  public let width: Int
  /// Likewise.
  public let height: Int
  /// Whether its pixels are known to be in sRGB: a JPEG file in three colours that brings no profile.
  let isPlainRGB: Bool

  /// Reads the header of the file at `path`, which is not a symbolic link.
  ///
  /// - Throws: `PictureRefusal` for bytes that are refused; `MediaFileError` if the file cannot be read.
  public init(path: String) throws { try self.init(PictureInput(path: path)) }

  /// The same of a file that is open for reading.
  public init(descriptor: Int32) throws { try self.init(PictureInput(descriptor: descriptor)) }

  private init(_ input: consuming PictureInput) throws {
    let start = try input.bytes(at: 0, count: 32)
    let format = try Self.format(start)
    var isPlainRGB = false
    let (width, height) =
      switch format {
      case .jpeg: try JPEGHeader.size(input, isPlainRGB: &isPlainRGB)
      case .png: try PNGHeader.size(start)
      case .webp: try WebPHeader.size(start)
      case .gif: try GIFHeader.size(start)
      case .heic: try HEICHeader.size(input)
      }
    try self.init(format, width, height, isPlainRGB: isPlainRGB)
  }

  init(
    _ format: PictureFormat, _ width: UInt32, _ height: UInt32, isPlainRGB: Bool = false
  ) throws(PictureRefusal) {
    guard width > 0, height > 0 else { throw .broken("The \(format.name) file declares a picture without pixels.") }
    // Sides first: the product of two that pass fits.
    guard width <= Self.sideLimit, height <= Self.sideLimit, Int(width) * Int(height) <= Self.pixelLimit else {
      throw .tooManyPixels(width: Int(width), height: Int(height))
    }
    self.format = format
    self.isPlainRGB = isPlainRGB
    self.width = Int(width)
    self.height = Int(height)
  }

  private static func format(_ start: [UInt8]) throws(PictureRefusal) -> PictureFormat {
    if start.isEmpty { throw .broken("The file is empty.") }
    if start.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
    if start.starts(with: PNGHeader.signature) { return .png }
    if start.starts(with: "GIF87a".utf8) || start.starts(with: "GIF89a".utf8) { return .gif }
    if start.starts(with: "RIFF".utf8), start.dropFirst(8).starts(with: "WEBP".utf8) { return .webp }
    // Which other files of this container are pictures is for the brands to say.
    if start.dropFirst(4).starts(with: "ftyp".utf8) { return .heic }
    throw .unknownFormat
  }
}
