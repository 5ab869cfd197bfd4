/// The key of an object: `FILE/NAME`, a picture's file and one of its forms, such as
/// `0123456789abcdef0123456789abcdef/thumb.webp`.
///
/// Keys contain only the characters `a-z`, `0-9`, `.` and `/`, and no `..`, so no key leads out of a store.
public struct MediaKey: Hashable, Sendable {
  /// A form of a picture.
  public enum Name: String, CaseIterable, Sendable {
    case original
    case thumbWebP = "thumb.webp"
    case thumbJPEG = "thumb.jpg"
    case feedWebP = "feed.webp"
    case feedJPEG = "feed.jpg"
    case fullWebP = "full.webp"
    case fullJPEG = "full.jpg"
    /// Not of a picture: an account's export.
    case archive = "archive.zip"

    /// The forms that a picture has once its sizes are made.
    public static let ofPictures = allCases.filter { $0 != .archive }
  }

  /// 32 lower-case hexadecimal digits.
  public let file: String
  public let name: Name

  /// - Returns: nil unless `file` is 32 lower-case hexadecimal digits.
  public init?(file: some StringProtocol, name: Name) {
    guard Self.isFile(file) else { return nil }
    self.file = String(file)
    self.name = name
  }

  static func isFile(_ text: some StringProtocol) -> Bool {
    text.utf8.count == 32
      && text.utf8.allSatisfy {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
      }
  }
}

extension MediaKey: LosslessStringConvertible {
  /// - Returns: nil if the text is not a key.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let name = Name(rawValue: String(parts[1])) else { return nil }
    self.init(file: parts[0], name: name)
  }

  public var description: String { "\(file)/\(name.rawValue)" }
}

extension MediaKey: Comparable {
  /// Compares the bytes of the text, the order in which stores list their objects.
  public static func < (one: MediaKey, other: MediaKey) -> Bool {
    (one.file, one.name.rawValue) < (other.file, other.name.rawValue)
  }
}
