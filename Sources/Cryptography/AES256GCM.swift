import CLibCrypto

/// AES with 256-bit keys in Galois/Counter Mode (NIST SP 800-38D): encrypts bytes and detects changes.
public struct AES256GCM: Sendable {
  private static let nonceCount = 12
  private static let tagCount = 16

  private let key: [UInt8]

  /// - Parameters:
  ///   - secret: the input from which the key is derived, by HKDF with SHA-256 (RFC 5869).
  ///   - purpose: keys derived from one secret for different purposes reveal nothing about each other.
  public init(secret: some Sequence<UInt8>, purpose: String) {
    let extracted = HMACSHA256(key: [UInt8](repeating: 0, count: 32)).code(for: Array(secret))
    key = HMACSHA256(key: extracted).code(for: Array(purpose.utf8) + [1])
  }

  /// The sealed form of `bytes`, 28 bytes longer: a new nonce, the ciphertext, and the tag.
  ///
  /// - Parameter context: must be passed to `open` too, for example the bytes' owner.
  public func seal(_ bytes: [UInt8], for context: String) throws(CryptographyError) -> [UInt8] {
    let nonce = [UInt8].random(count: Self.nonceCount)
    let (cipher, context) = (EVP_CIPHER_CTX_new(), Array(context.utf8))
    defer { EVP_CIPHER_CTX_free(cipher) }
    var hidden = [UInt8](repeating: 0, count: bytes.count)
    var tag = [UInt8](repeating: 0, count: Self.tagCount)
    var count: Int32 = 0
    guard EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce) == 1,
      EVP_EncryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1,
      EVP_EncryptUpdate(cipher, &hidden, &count, bytes, Int32(bytes.count)) == 1,
      EVP_EncryptFinal_ex(cipher, nil, &count) == 1,
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
    else { throw CryptographyError(.failed, "sealing bytes") }
    return nonce + hidden + tag
  }

  /// The bytes passed to `seal`; nil for another key, another context, or modified bytes.
  public func open(_ sealed: [UInt8], for context: String) -> [UInt8]? {
    guard sealed.count >= Self.nonceCount + Self.tagCount else { return nil }
    let nonce = Array(sealed.prefix(Self.nonceCount))
    let hidden = Array(sealed.dropFirst(Self.nonceCount).dropLast(Self.tagCount))
    var tag = Array(sealed.suffix(Self.tagCount))
    let (cipher, context) = (EVP_CIPHER_CTX_new(), Array(context.utf8))
    defer {
      EVP_CIPHER_CTX_free(cipher)
      ERR_clear_error()
    }
    var bytes = [UInt8](repeating: 0, count: hidden.count)
    var count: Int32 = 0
    let isWhole =
      EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce) == 1
      && EVP_DecryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1
      && EVP_DecryptUpdate(cipher, &bytes, &count, hidden, Int32(hidden.count)) == 1
      && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
      && EVP_DecryptFinal_ex(cipher, nil, &count) == 1
    return isWhole ? bytes : nil
  }
}

extension AES256GCM: CustomStringConvertible, CustomReflectable {
  /// Omits the key: descriptions end up in logs.
  public var description: String { "AES-256-GCM" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
