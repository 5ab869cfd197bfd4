import CurlClient
import Social

extension Settings {
  /// The picture store: the bucket of `FANMILL_MEDIA_URL`, else the folder of `FANMILL_MEDIA_DIR`.
  ///
  /// - Parameter makeClient: creates the bucket's HTTP client with the given configuration; the caller closes it. Not
  ///   called for a folder.
  /// - Throws: ``SettingsError`` for an invalid URL, and any error that `makeClient` throws.
  public func mediaStore(
    makeClient: (HTTPClientConfiguration) throws -> HTTPClient
  ) throws -> any MediaStore {
    guard let mediaURL else { return MediaFolder(path: mediaDir) }
    let address: S3Address
    do throws(Wrong) {
      address = try Self.s3Address(mediaURL.value)
    } catch {
      throw refusal(of: .mediaURL, because: error.reason)
    }
    return S3Store(address, client: try makeClient(S3Store.configuration))
  }

  mutating func takeMedia(_ reader: SettingsReader) throws(SettingsError) {
    try take(.mediaDir, reader.text(.mediaDir)) { settings, text throws(Wrong) in
      guard text.hasPrefix("/"), !text.contains("\0") else {
        throw Wrong(value: text, reason: "not the path of a folder that begins with /")
      }
      settings.mediaDir = text
    }
    try take(.mediaURL, reader.text(.mediaURL)) { settings, text throws(Wrong) in
      _ = try Self.s3Address(text)
      settings.mediaURL = Secret(text)
    }
    try take(.mediaControlGroup, reader.text(.mediaControlGroup)) { settings, text throws(Wrong) in
      guard text.hasPrefix("/"), !text.contains("\0") else {
        throw Wrong(value: text, reason: "not the path of a folder that begins with /")
      }
      settings.mediaControlGroup = text
    }
    try take(.mediaQuota, reader.number(.mediaQuota, in: 0...100_000_000)) { $0.mediaQuota = $1 * 1_000_000 }
    try take(.mediaUploadRate, reader.number(.mediaUploadRate, in: 1...100_000)) { $0.mediaUploadRate = $1 * 1_000_000 }
  }

  private static func s3Address(_ text: String) throws(Wrong) -> S3Address {
    do throws(MediaStoreError) {
      return try S3Address(url: text)
    } catch {
      throw Wrong(value: text, reason: error.message)
    }
  }
}
