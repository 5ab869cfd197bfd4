import Foundation
import Glibc

extension MediaTree {
  /// A file that is being written and has no key yet, in a separate folder that listings skip.
  struct Part: ~Copyable {
    /// The age, in seconds, from which a part counts as left by a killed writer.
    private static let leftoverAge: TimeInterval = 86_400

    private let tree: MediaTree
    private let root: Descriptor
    private let folder: Descriptor
    private let file: Descriptor
    private let name: String

    private var path: String { "\(tree.root)/\(MediaTree.incoming)/\(name)" }

    /// A new, empty file.
    init(in tree: MediaTree) throws(MediaStoreError) {
      let root = try tree.madeRoot()
      let folder = try Self.folder(of: tree, root)
      let name = MediaTree.randomName()
      // Read-only once it is closed: objects never change.
      let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      guard let file = Descriptor(openat(folder.number, name, flags, 0o440)) else {
        throw .folder("\(tree.root)/\(MediaTree.incoming)", errno)
      }
      (self.tree, self.name) = (tree, name)
      self.root = root
      self.folder = folder
      self.file = file
    }

    /// Links the file that is open as `source`, without copying its bytes.
    ///
    /// - Returns: nil if the system refuses the link: the file is on another disk, or belongs to another user.
    init?(linking source: borrowing Descriptor, in tree: MediaTree) throws(MediaStoreError) {
      let root = try tree.madeRoot()
      let folder = try Self.folder(of: tree, root)
      let name = MediaTree.randomName()
      guard
        linkat(AT_FDCWD, "/proc/self/fd/\(source.number)", folder.number, name, AT_SYMLINK_FOLLOW) == 0
      else { return nil }
      guard fchmod(source.number, 0o440) == 0, let file = source.copy() else {
        let reason = errno
        unlinkat(folder.number, name, 0)
        throw .folder("\(tree.root)/\(MediaTree.incoming)", reason)
      }
      (self.tree, self.name) = (tree, name)
      self.root = root
      self.folder = folder
      self.file = file
    }

    private static func folder(of tree: MediaTree, _ root: borrowing Descriptor) throws(MediaStoreError) -> Descriptor {
      guard let folder = try tree.madeStep(into: MediaTree.incoming, of: root, named: tree.root) else {
        throw .folder(tree.root, ENOENT)
      }
      return folder
    }

    /// After a move the name no longer exists.
    deinit { unlinkat(folder.number, name, 0) }

    func write(_ piece: UnsafeRawBufferPointer) throws(MediaStoreError) {
      guard file.write(piece) else { throw .folder(path, errno) }
    }

    /// All bytes written, from the beginning, after a sync to disk.
    func readBack() throws(MediaStoreError) -> [UInt8] {
      guard fsync(file.number) == 0, lseek(file.number, 0, SEEK_SET) == 0 else { throw .folder(path, errno) }
      var bytes: [UInt8] = []
      let path = path
      try file.forEachPiece {
        .folder(path, $0)
      } _: { (piece) throws(MediaStoreError) in
        bytes += piece
      }
      return bytes
    }

    /// Moves the file to its key. From here on it survives a crash.
    func moveTo(_ key: MediaKey) throws(MediaStoreError) {
      guard fsync(file.number) == 0 else { throw .folder(path, errno) }
      // Removing the last object also removes the folder, perhaps between two of these steps.
      for _ in 0..<100 {
        guard let shelf = try tree.madeStep(into: key.shelf, of: root, named: tree.root) else { continue }
        let shelfPath = "\(tree.root)/\(key.shelf)"
        guard let home = try tree.madeStep(into: key.file, of: shelf, named: shelfPath) else { continue }
        if renameat(folder.number, name, home.number, key.name.rawValue) == 0 {
          guard fsync(home.number) == 0 else { throw .folder(tree.path(of: key), errno) }
          return
        }
        guard errno == ENOENT else { throw .folder(tree.path(of: key), errno) }
      }
      throw .folder(tree.path(of: key), ENOENT)
    }

    func removeLeftovers() throws(MediaStoreError) {
      guard let names = folder.names() else { throw .folder("\(tree.root)/\(MediaTree.incoming)", errno) }
      for name in names {
        guard let status = FileStatus(name, in: folder), -status.modified.timeIntervalSinceNow > Self.leftoverAge else {
          continue
        }
        guard unlinkat(folder.number, name, 0) == 0 || errno == ENOENT else {
          throw .folder("\(tree.root)/\(MediaTree.incoming)/\(name)", errno)
        }
      }
    }
  }
}
