import Social

/// The API's store of pictures.
public struct MediaShelf: Sendable {
  let store: any MediaStore
  /// The folder for uploads in progress, before they move to the store.
  let incoming: String
  let line: UploadLine
  /// The most bytes that an account may own.
  let quota: Int

  /// - Parameters:
  ///   - incoming: a folder, best on the same file system as a store that is a folder.
  ///   - quota: in bytes.
  ///   - bytesPerSecond: the limit for all uploads together.
  public init(store: any MediaStore, incoming: String, quota: Int, bytesPerSecond: Int = 20_000_000) {
    self.store = store
    self.incoming = incoming
    self.quota = quota
    line = UploadLine(bytesPerSecond: Double(bytesPerSecond))
  }
}
