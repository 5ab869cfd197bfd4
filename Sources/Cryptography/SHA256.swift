import CLibCrypto

/// SHA-256 (FIPS 180-4, RFC 6234).
public enum SHA256 {
  /// The length of a digest, in bytes.
  public static let byteCount = 32

  /// The digest of `bytes`, 32 bytes long.
  public static func hash(of bytes: some Sequence<UInt8>) -> [UInt8] {
    let algorithm = algorithm
    return [UInt8](unsafeUninitializedCapacity: byteCount) { digest, count in
      let isDone = withContiguousBytes(of: bytes) { bytes in
        EVP_Digest(bytes.baseAddress, bytes.count, digest.baseAddress, nil, algorithm, nil)
      }
      guard isDone == 1 else { preconditionFailure("\(CryptographyError(.failed, "SHA-256 of bytes in memory"))") }
      count = byteCount
    }
  }

  /// libcrypto's implementation, which it looks up by name: once here instead of once per digest.
  ///
  /// Set once and never freed. libcrypto never changes an algorithm after returning it, and all threads may use it.
  nonisolated(unsafe) static let algorithm: OpaquePointer = {
    guard let found = EVP_MD_fetch(nil, "SHA256", nil) else {
      preconditionFailure("\(CryptographyError(.failed, "libcrypto offers no SHA-256: check its openssl.cnf"))")
    }
    return found
  }()
}
