import Social

/// Where the API keeps and finds pictures.
public struct MediaShelf: Sendable {
  let store: any MediaStore
  /// Where uploads are received, before they go into the store.
  let incoming: String
  /// One: uploads come to the disk a piece at a time.
  let disk = DiskThreads(count: 1)
  /// How many bytes an account may own.
  let quota: Int

  /// - Parameters:
  ///   - incoming: a folder, best on the file system of a store that is a folder, too.
  ///   - quota: in bytes.
  public init(store: any MediaStore, incoming: String, quota: Int) {
    self.store = store
    self.incoming = incoming
    self.quota = quota
  }
}
