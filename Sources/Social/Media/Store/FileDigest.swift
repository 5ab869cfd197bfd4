import Cryptography

/// Computes the SHA-256 of a local file, in hexadecimal digits. Blocks.
enum FileDigest {
  /// - Throws: `.file`.
  static func sha256(of path: String) throws(MediaStoreError) -> String {
    let file = try Descriptor.reading(path)
    var hasher = SHA256Hasher()
    try file.forEachPiece {
      .file(path, $0)
    } _: { (piece) throws(MediaStoreError) in
      hasher.update(piece)
    }
    return hasher.digest().hexadecimal
  }
}
