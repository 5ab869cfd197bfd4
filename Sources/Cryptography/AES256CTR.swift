import CLibCrypto

/// AES with 256-bit keys in counter mode (NIST SP 800-38A), counting from zero.
///
/// The mode detects no changes, and a key may encrypt only one text: use `AES256GCM` for anything new.
public enum AES256CTR {
  public static let keyCount = 32

  /// The first `count` bytes that the key produces: a ciphertext is its plaintext XOR these.
  ///
  /// - Parameters:
  ///   - key: 32 bytes.
  ///   - count: at least 1.
  /// - Throws: `.invalidParameters`, `.failed`.
  public static func keyStream(_ key: [UInt8], count: Int) throws(CryptographyError) -> [UInt8] {
    guard key.count == keyCount, count > 0, count <= 1 << 20 else {
      throw CryptographyError(.invalidParameters, "AES-256-CTR with a key of \(key.count) bytes for \(count) bytes")
    }
    let cipher = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(cipher) }
    let counter = [UInt8](repeating: 0, count: 16)
    let zeros = [UInt8](repeating: 0, count: count)
    var stream = [UInt8](repeating: 0, count: count)
    var written: Int32 = 0
    guard EVP_EncryptInit_ex(cipher, EVP_aes_256_ctr(), nil, key, counter) == 1,
      EVP_EncryptUpdate(cipher, &stream, &written, zeros, Int32(count)) == 1
    else { throw CryptographyError(.failed, "AES-256-CTR") }
    return stream
  }
}
