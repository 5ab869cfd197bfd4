import Glibc

extension MediaTree {
  /// The forms sorted by name.
  private static let names = MediaKey.Name.allCases.sorted { $0.rawValue < $1.rawValue }

  /// The next objects in key order. Only one shelf's names are in memory at a time.
  func objects(after last: MediaKey?, limit: Int) throws(MediaStoreError) -> [StoredObject] {
    guard let folder = Descriptor(Glibc.open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) else {
      if errno == ENOENT { return [] }
      throw .folder(root, errno)
    }
    var objects: [StoredObject] = []
    for name in try names(of: folder, at: root) where name.utf8.count == 2 && name >= last?.shelf ?? "" {
      guard let shelf = try listed(name, in: folder, at: root) else { continue }
      let path = "\(root)/\(name)"
      for file in try names(of: shelf, at: path) where MediaKey.isFile(file) && file >= last?.file ?? "" {
        guard file.hasPrefix(name), let home = try listed(file, in: shelf, at: path) else { continue }
        objects += try forms(of: file, in: home, at: "\(path)/\(file)", after: last)
        if objects.count >= limit { return Array(objects.prefix(limit)) }
      }
    }
    return objects
  }

  private func forms(
    of file: String, in folder: borrowing Descriptor, at path: String, after last: MediaKey?
  ) throws(MediaStoreError) -> [StoredObject] {
    var objects: [StoredObject] = []
    for name in Self.names {
      guard let key = MediaKey(file: file, name: name) else { continue }
      if let last, key <= last { continue }
      guard let status = FileStatus(name.rawValue, in: folder) else {
        if errno == ENOENT { continue }
        throw .folder("\(path)/\(name.rawValue)", errno)
      }
      if status.isRegular { objects.append(StoredObject(key: key, bytes: status.bytes, modified: status.modified)) }
    }
    return objects
  }

  private func names(of folder: borrowing Descriptor, at path: String) throws(MediaStoreError) -> [String] {
    guard let names = folder.names() else { throw .folder(path, errno) }
    return names
  }

  /// A folder; nil if it was removed meanwhile, or is a link or not a folder, and so holds no object.
  private func listed(
    _ name: String, in parent: borrowing Descriptor, at path: String
  ) throws(MediaStoreError) -> Descriptor? {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    if let folder = Descriptor(openat(parent.number, name, flags)) { return folder }
    guard [ENOENT, ENOTDIR, ELOOP].contains(errno) else { throw .folder("\(path)/\(name)", errno) }
    return nil
  }
}
