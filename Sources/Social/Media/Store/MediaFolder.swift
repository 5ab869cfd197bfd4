/// A store in a local folder: `ab/FILE/NAME` under it, where `ab` are the file's first two digits.
public struct MediaFolder: MediaStore {
  private let tree: MediaTree
  private let threads = DiskThreads(count: 4)

  /// - Parameter path: absolute. The folder is created on the first put, for this process's user and group.
  public init(path: String) { tree = MediaTree(root: path) }

  public func put(_ path: String, at key: MediaKey, contentType: String) async throws {
    try await threads.run { [tree] in try tree.put(path, at: key) }
  }

  public func fetch(_ key: MediaKey, to path: String) async throws {
    try await threads.run { [tree] in try tree.fetch(key, to: path) }
  }

  public func remove(_ keys: [MediaKey]) async throws {
    try await threads.run { [tree] in
      for key in keys { try tree.remove(key) }
    }
  }

  public func objects(after key: MediaKey?) async throws -> [StoredObject] {
    try await threads.run { [tree] in
      try tree.objects(after: key, limit: MediaStorePaging.limit)
    }
  }

  public func source(of key: MediaKey) async throws -> MediaSource {
    try await threads.run { [tree] in
      .file(path: tree.path(of: key), bytes: try tree.bytes(of: key))
    }
  }

  public func check() async throws {
    try await threads.run { [tree] in try tree.check() }
  }
}
