/// The reason that a picture is refused: a property of its bytes, so a retry cannot succeed.
public enum PictureRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// The bytes are in no accepted format; with a sentence for the client.
  case unsupported(String)
  /// The bytes claim an accepted format, but are damaged or malicious; with a sentence for the client.
  case broken(String)
  /// A side exceeds `PictureHeader.sideLimit`, or the area `PictureHeader.pixelLimit`. In pixels.
  case tooManyPixels(width: Int, height: Int)

  /// The API's error code: `unsupported_media` or `broken_media`.
  public var code: String {
    switch self {
    case .unsupported: "unsupported_media"
    case .broken, .tooManyPixels: "broken_media"
    }
  }

  /// A sentence for the client, without file names.
  public var message: String {
    switch self {
    case .unsupported(let reason), .broken(let reason): reason
    case .tooManyPixels(let width, let height):
      "The picture has \(width) × \(height) pixels; at most \(PictureHeader.pixelLimit / 1_000_000) million pixels and "
        + "\(PictureHeader.sideLimit) on a side are accepted."
    }
  }

  public var description: String { "\(code): \(message)" }

  static let unknownFormat = Self.unsupported("The file is not a JPEG, PNG, WebP, GIF or HEIC picture.")

  static func cutOff(_ format: PictureFormat) -> Self {
    .broken("The \(format.name) file ends within its header.")
  }

  static func malformed(_ format: PictureFormat) -> Self {
    .broken("The \(format.name) file is damaged.")
  }
}

extension PictureFormat {
  /// The name for display.
  var name: String { self == .webp ? "WebP" : rawValue.uppercased() }
}
