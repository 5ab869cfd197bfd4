/// Stores the bytes of pictures: in a folder, or in a bucket of an S3-compatible store.
///
/// Every method throws `MediaStoreError`, and `CancellationError` if its task is cancelled.
public protocol MediaStore: Sendable {
  /// Stores a local file. A reader sees the whole object or none; storing the same file again changes nothing.
  ///
  /// - Parameters:
  ///   - path: of a regular file, which must not change afterward: a store may keep the file itself.
  ///   - contentType: the type that a store reports if it serves the object itself.
  func put(_ path: String, at key: MediaKey, contentType: String) async throws

  /// Copies an object to a local file, which appears once it is complete and replaces an existing one.
  ///
  /// The file may be a link to the store's own, so it is only for reading.
  ///
  /// - Throws: `.missing`.
  func fetch(_ key: MediaKey, to path: String) async throws

  /// Removes objects; missing ones are ignored.
  func remove(_ keys: [MediaKey]) async throws

  /// The next objects in key order, up to 1,000; none after the last.
  ///
  /// Files in the store that are not picture objects are left out.
  ///
  /// - Parameter key: the last key of the previous page; nil for the first page.
  func objects(after key: MediaKey?) async throws -> [StoredObject]

  /// The source of the object for a response.
  ///
  /// - Throws: `.missing` from a folder. A bucket is not queried: the URL of a missing object returns 404.
  func source(of key: MediaKey) async throws -> MediaSource

  /// Writes a few bytes, reads them back and removes them.
  ///
  /// - Throws: an error that says what is wrong, where, and what to do.
  func check() async throws
}

/// The paging that all stores share.
enum MediaStorePaging {
  /// The most objects per page.
  static let limit = 1000
}
