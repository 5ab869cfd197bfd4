import Foundation
import Glibc

/// Makes pictures on a worker: fetches the original, makes its sizes, and stores them.
public struct PictureStudio: Sendable {
  private let store: any MediaStore
  private let workshop: PictureWorkshop
  private let folder: String

  /// - Parameter folder: for temporary files; each picture has its own folder there while it is being made.
  public init(store: any MediaStore, workshop: PictureWorkshop, folder: String = NSTemporaryDirectory()) {
    self.store = store
    self.workshop = workshop
    self.folder = folder
  }

  private static let prefix = "fanmill-picture-"

  /// Removes what killed workers left: folders older than any picture takes.
  public func removeLeftovers() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix(Self.prefix) {
      let path = "\(folder)/\(name)"
      var status = stat()
      guard stat(path, &status) == 0, time(nil) - status.st_mtim.tv_sec > 600 else { continue }
      do {
        try FileManager.default.removeItem(atPath: path)
      } catch let error as CocoaError where error.code == .fileNoSuchFile {
        // Another worker that is starting removes it too.
      }
    }
  }

  /// - Throws: `PictureRefusal` if it cannot be made into a picture, `MediaStoreError`.
  func make(_ file: MediaFile) async throws -> MadePictures {
    let work = URL(filePath: folder).appending(path: Self.prefix + UUID().uuidString).path
    try FileManager.default.createDirectory(
      atPath: work, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    do {
      let made = try await make(file, in: work)
      try FileManager.default.removeItem(atPath: work)
      return made
    } catch {
      try FileManager.default.removeItem(atPath: work)
      throw error
    }
  }

  private func make(_ file: MediaFile, in work: String) async throws -> MadePictures {
    let original = work + "/original"
    try await store.fetch(file.original, to: original)
    let pictures = try await workshop.make(from: original, in: work)
    var bytes = 0
    for picture in pictures.files {
      try await store.put(
        "\(work)/\(picture.name)", at: file.key(picture.size, picture.encoding),
        contentType: picture.encoding.contentType)
      bytes += picture.byteCount
    }
    return MadePictures(width: pictures.width, height: pictures.height, bytes: bytes)
  }
}

/// The result of processing an original.
struct MadePictures: Sendable {
  /// The width of the largest size, in pixels.
  let width: Int
  let height: Int
  /// The size of all files together.
  let bytes: Int

  /// The displayed size of the original, in pixels, given the size in its header: rotated if the decoder rotated it.
  func upright(_ stored: (width: Int32, height: Int32)) -> (width: Int32, height: Int32) {
    func makesThis(_ width: Int32, _ height: Int32) -> Bool {
      PictureSize.full.fitted(width: Int(width), height: Int(height)) == (self.width, self.height)
    }
    if makesThis(stored.width, stored.height) { return stored }
    if makesThis(stored.height, stored.width) { return (stored.height, stored.width) }
    return (Int32(clamping: width), Int32(clamping: height))
  }
}
