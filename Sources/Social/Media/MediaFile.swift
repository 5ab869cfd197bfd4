import Cryptography

/// The stored bytes of a picture: the original and the sizes made from it.
public struct MediaFile: Sendable, Hashable {
  /// 32 hexadecimal digits, the first part of its objects' keys.
  public let id: String

  /// A new file, not stored yet.
  public init() { id = [UInt8].random(count: 16).hexadecimal }

  /// - Parameter id: from the database, whose constraint allows no other form.
  init(id: String) {
    precondition(MediaKey.isFile(id), "a file's id has 32 hexadecimal digits")
    self.id = id
  }

  /// The key of the uploaded bytes.
  public var original: MediaKey { key(.original) }

  /// The keys of all objects that the file has once its sizes are made.
  public var keys: [MediaKey] { MediaKey.Name.ofPictures.map(key) }

  /// The key of an account's export, which has a file of its own.
  public var archive: MediaKey { key(.archive) }

  public func key(_ size: PictureSize, _ encoding: PictureEncoding) -> MediaKey {
    switch (size, encoding) {
    case (.thumb, .webp): key(.thumbWebP)
    case (.thumb, .jpeg): key(.thumbJPEG)
    case (.feed, .webp): key(.feedWebP)
    case (.feed, .jpeg): key(.feedJPEG)
    case (.full, .webp): key(.fullWebP)
    case (.full, .jpeg): key(.fullJPEG)
    }
  }

  private func key(_ name: MediaKey.Name) -> MediaKey {
    guard let key = MediaKey(file: id, name: name) else { preconditionFailure("the id was checked") }
    return key
  }
}
