/// An upload that was received completely and whose header was checked.
public struct MediaUpload: Sendable {
  /// SHA-256 of its bytes.
  public let hash: [UInt8]
  public let bytes: Int
  public let header: PictureHeader

  public init(hash: [UInt8], bytes: Int, header: PictureHeader) {
    self.hash = hash
    self.bytes = bytes
    self.header = header
  }
}
