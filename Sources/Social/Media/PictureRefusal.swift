/// Why a picture is refused: a property of its bytes, which another attempt does not change.
public enum PictureRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// The bytes have no format that this server takes; with the sentence for the client.
  case unsupported(String)
  /// The bytes claim such a format, and are damaged or made to harm; with the sentence for the client.
  case broken(String)
  /// A side is over `PictureHeader.sideLimit`, or the area over `PictureHeader.pixelLimit`. In pixels.
  case tooManyPixels(width: Int, height: Int)

  /// What the API answers with, for programs: `unsupported_media` or `broken_media`.
  public var code: String {
    switch self {
    case .unsupported: "unsupported_media"
    case .broken, .tooManyPixels: "broken_media"
    }
  }

  /// A sentence for the client, without names of files.
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
  /// As people write it.
  var name: String { self == .webp ? "WebP" : rawValue.uppercased() }
}
