/// The format and size in a picture's first bytes. File names and Content-Type are ignored.
///
/// Only a few hundred bytes are read, whatever the file's size. The rest may still be damaged; only decoding shows
/// that.
public struct PictureHeader: Hashable, Sendable {
  /// The most pixels in a picture, so that a decoder fits within `PictureWorkshop`'s memory limit.
  public static let pixelLimit = 40_000_000
  /// The longest side that a picture may have, in pixels.
  public static let sideLimit = 65_535

  public let format: PictureFormat
  /// In pixels as stored, before any rotation by the orientation tag.
  public let width: Int
  /// In pixels as stored, likewise.
  public let height: Int
  /// Whether its pixels are known to be in sRGB: a JPEG file with three components and no profile.
  let isPlainRGB: Bool

  /// Reads the header of the file at `path`, which must not be a symbolic link.
  ///
  /// - Throws: `PictureRefusal` if the bytes are refused; `MediaFileError` if the file cannot be read.
  public init(path: String) throws { try self.init(PictureInput(path: path)) }

  /// Reads the header of a file that is open for reading.
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
    // The sides are checked first, so that their product cannot overflow.
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
    // The brands tell which other files in this container are pictures.
    if start.dropFirst(4).starts(with: "ftyp".utf8) { return .heic }
    throw .unknownFormat
  }
}
