import Foundation
import Glibc

extension MediaTree {
  /// Stores a file: writes it under a temporary name, syncs it to disk, and only then moves it to where readers find
  /// it.
  func put(_ source: String, at key: MediaKey) throws(MediaStoreError) {
    let input = try Descriptor.reading(source)
    if let part = try Part(linking: input, in: self) { return try part.moveTo(key) }
    let part = try Part(in: self)
    try input.forEachPiece {
      .file(source, $0)
    } _: { (piece) throws(MediaStoreError) in
      try part.write(piece)
    }
    try part.moveTo(key)
  }

  /// Links an object to a local path, or copies it if the path is on another disk.
  func fetch(_ key: MediaKey, to path: String) throws(MediaStoreError) {
    let object = try open(key)
    let part = "\(path).part-\(Self.randomName())"
    // Links the file that was opened, even if its name has changed meanwhile.
    if linkat(AT_FDCWD, "/proc/self/fd/\(object.number)", AT_FDCWD, part, AT_SYMLINK_FOLLOW) != 0 {
      try copy(object, key, to: part)
    }
    let failure = rename(part, path) == 0 ? nil : MediaStoreError.file(path, errno)
    // Also after a rename, which keeps both names if they are links to the same file.
    unlink(part)
    if let failure { throw failure }
  }

  private func copy(
    _ object: borrowing Descriptor, _ key: MediaKey, to part: String
  ) throws(MediaStoreError) {
    guard let file = Descriptor(Glibc.open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)) else {
      throw .file(part, errno)
    }
    do throws(MediaStoreError) {
      try object.forEachPiece {
        .folder(self.path(of: key), $0)
      } _: { (piece) throws(MediaStoreError) in
        guard file.write(piece) else { throw .file(part, errno) }
      }
    } catch {
      unlink(part)
      throw error
    }
  }

  func remove(_ key: MediaKey) throws(MediaStoreError) {
    guard let root = Descriptor(Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      let shelf = try step(into: key.shelf, of: root, named: self.root),
      let folder = try step(into: key.file, of: shelf, named: "\(self.root)/\(key.shelf)")
    else {
      if errno == ENOENT { return }
      throw .folder(self.root, errno)
    }
    guard unlinkat(folder.number, key.name.rawValue, 0) == 0 || errno == ENOENT else {
      throw .folder(path(of: key), errno)
    }
    guard unlinkat(shelf.number, key.file, AT_REMOVEDIR) == 0 || [ENOTEMPTY, EEXIST, ENOENT].contains(errno) else {
      throw .folder("\(self.root)/\(key.shelf)/\(key.file)", errno)
    }
  }

  /// Writes a few bytes to the disk and reads them back. Also removes what killed writers left.
  func check() throws(MediaStoreError) {
    let bytes = [UInt8]((0..<64).map { _ in UInt8.random(in: 0...255) })
    let part = try Part(in: self)
    let written = bytes.withUnsafeBytes { bytes -> MediaStoreError? in
      do throws(MediaStoreError) { try part.write(bytes) } catch { return error }
      return nil
    }
    if let written { throw written }
    guard try part.readBack() == bytes else {
      throw MediaStoreError(.folder, "\(root) returns different bytes from those written: check the disk")
    }
    try part.removeLeftovers()
  }

  static func randomName() -> String { String(UInt64.random(in: 0...(.max)), radix: 16) }
}
