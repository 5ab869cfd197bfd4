/// Where the bytes of pictures lie: a folder, or a bucket of an S3-compatible store.
///
/// Every method throws `MediaStoreError`, and `CancellationError` where its task is cancelled.
public protocol MediaStore: Sendable {
  /// Stores a local file. A reader sees the whole object or none; putting the same again changes nothing.
  ///
  /// - Parameters:
  ///   - path: of a regular file, which is not changed from then on: a store may keep the very file.
  ///   - contentType: what a store says that serves the object itself.
  func put(_ path: String, at key: MediaKey, contentType: String) async throws

  /// Copies an object to a local file, which appears when it is whole; one that is there is replaced.
  ///
  /// The file may be a link to the store's own: it is for reading alone.
  ///
  /// - Throws: `.missing`.
  func fetch(_ key: MediaKey, to path: String) async throws

  /// Removes objects; those that are missing are removed already.
  func remove(_ keys: [MediaKey]) async throws

  /// The next objects in the order of their keys, up to 1,000; none after the last.
  ///
  /// What lies in the store and is no object of pictures is left out.
  ///
  /// - Parameter key: of the last object of the page before; nil for the first page.
  func objects(after key: MediaKey?) async throws -> [StoredObject]

  /// Where an answer gets the object from.
  ///
  /// - Throws: `.missing` from a folder. A bucket is not asked: the URL of a missing object answers 404.
  func source(of key: MediaKey) async throws -> MediaSource

  /// Writes a few bytes, reads them back and removes them.
  ///
  /// - Throws: what is wrong, where, and what to do.
  func check() async throws
}

/// What all stores do alike.
enum MediaStorePaging {
  /// The most objects of a page.
  static let limit = 1000
}
