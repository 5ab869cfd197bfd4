import Glibc

/// The files of a `MediaFolder`. Calls block.
///
/// Each step down is opened relative to the previous one and follows no link, so that nothing outside the folder is
/// read or written, whatever the folder contains.
struct MediaTree: Sendable {
  /// The folder for files being written, which have no key yet.
  static let incoming = ".incoming"

  let root: String

  func path(of key: MediaKey) -> String { "\(root)/\(key.shelf)/\(key)" }

  // MARK: Reading

  func bytes(of key: MediaKey) throws(MediaStoreError) -> Int {
    let file = try open(key)
    guard let status = file.status else { throw .folder(path(of: key), errno) }
    return status.bytes
  }

  /// Opens the object's file for reading.
  ///
  /// - Throws: `.missing`.
  func open(_ key: MediaKey) throws(MediaStoreError) -> Descriptor {
    guard let folder = try folder(of: key),
      let file = Descriptor(openat(folder.number, key.name.rawValue, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))
    else {
      if errno == ENOENT { throw .missing(key, in: root) }
      throw .folder(path(of: key), errno)
    }
    guard file.status?.isRegular == true else { throw .folder(path(of: key), ELOOP) }
    return file
  }

  /// The folder of a picture's forms; nil, with `errno`, if it does not exist.
  private func folder(of key: MediaKey) throws(MediaStoreError) -> Descriptor? {
    guard let folder = Descriptor(Glibc.open(root, Self.folderFlags)),
      let shelf = try step(into: key.shelf, of: folder, named: root)
    else { return nil }
    return try step(into: key.file, of: shelf, named: "\(root)/\(key.shelf)")
  }

  // MARK: Steps

  private static let folderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC

  /// The root folder, created if missing.
  func madeRoot() throws(MediaStoreError) -> Descriptor {
    if let folder = Descriptor(Glibc.open(root, Self.folderFlags)) { return folder }
    var path = ""
    for part in root.split(separator: "/") {
      path += "/\(part)"
      guard mkdir(path, 0o750) == 0 || errno == EEXIST else { throw .folder(path, errno) }
    }
    guard let folder = Descriptor(Glibc.open(root, Self.folderFlags)) else { throw .folder(root, errno) }
    return folder
  }

  /// A subfolder, created if missing; nil if its parent was removed meanwhile.
  func madeStep(into name: String, of parent: borrowing Descriptor, named path: String) throws(MediaStoreError)
    -> Descriptor?
  {
    if mkdirat(parent.number, name, 0o750) == 0 {
      // The name must survive a crash, like the files below it.
      guard fsync(parent.number) == 0 else { throw .folder(path, errno) }
    } else if errno != EEXIST {
      // The parent was removed meanwhile.
      if errno == ENOENT { return nil }
      throw .folder("\(path)/\(name)", errno)
    }
    return try step(into: name, of: parent, named: path)
  }

  /// A subfolder; nil, with `errno`, if it does not exist.
  func step(into name: String, of parent: borrowing Descriptor, named path: String) throws(MediaStoreError)
    -> Descriptor?
  {
    if let folder = Descriptor(openat(parent.number, name, Self.folderFlags | O_NOFOLLOW)) { return folder }
    guard errno == ENOENT else { throw .folder("\(path)/\(name)", errno) }
    return nil
  }
}

extension MediaKey {
  /// One of 256 folders, so that none gets too many entries.
  var shelf: String { String(file.prefix(2)) }
}
