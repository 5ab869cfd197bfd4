import Social

/// Where the API keeps and finds pictures.
public struct MediaShelf: Sendable {
  let store: any MediaStore
  /// Where uploads are received, before they go into the store.
  let incoming: String
  let line: UploadLine
  /// How many bytes an account may own.
  let quota: Int

  /// - Parameters:
  ///   - incoming: a folder, best on the file system of a store that is a folder, too.
  ///   - quota: in bytes.
  ///   - bytesPerSecond: how fast uploads are received at most, all together.
  public init(store: any MediaStore, incoming: String, quota: Int, bytesPerSecond: Int = 20_000_000) {
    self.store = store
    self.incoming = incoming
    self.quota = quota
    line = UploadLine(bytesPerSecond: Double(bytesPerSecond))
  }
}
