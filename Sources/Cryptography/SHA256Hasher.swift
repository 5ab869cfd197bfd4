import CLibCrypto

/// SHA-256 of bytes that arrive in pieces, such as those of a file.
public struct SHA256Hasher: ~Copyable {
  private let context: OpaquePointer

  public init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, SHA256.algorithm, nil) == 1 else { Self.fail() }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Adds the next piece.
  public mutating func update(_ piece: UnsafeRawBufferPointer) {
    guard EVP_DigestUpdate(context, piece.baseAddress, piece.count) == 1 else { Self.fail() }
  }

  /// The digest of all pieces, 32 bytes long.
  public consuming func digest() -> [UInt8] {
    let context = context
    return [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { digest, count in
      guard EVP_DigestFinal_ex(context, digest.baseAddress, nil) == 1 else { Self.fail() }
      count = SHA256.byteCount
    }
  }

  private static func fail() -> Never {
    preconditionFailure("\(CryptographyError(.failed, "SHA-256 of bytes in pieces"))")
  }
}
