import CLibCrypto

/// A key that creates Ed25519 signatures (RFC 8032).
public struct Ed25519PrivateKey: Sendable {
  /// The length of a key, in bytes.
  public static let byteCount = 32

  /// The secret key.
  public let bytes: [UInt8]
  public let publicKey: Ed25519PublicKey

  /// Generates a key.
  public init() throws(CryptographyError) { try self.init([UInt8].random(count: Self.byteCount)) }

  /// - Throws: `invalidParameters` for anything but 32 bytes.
  public init(_ bytes: [UInt8]) throws(CryptographyError) {
    guard bytes.count == Self.byteCount else {
      throw CryptographyError(.invalidParameters, "an Ed25519 private key has 32 bytes, not \(bytes.count)")
    }
    self.bytes = bytes
    let key = try Self.key(bytes)
    defer { EVP_PKEY_free(key) }
    var publicBytes = [UInt8](repeating: 0, count: Ed25519PublicKey.byteCount)
    var count = publicBytes.count
    guard EVP_PKEY_get_raw_public_key(key, &publicBytes, &count) == 1 else {
      throw CryptographyError(.failed, "reading an Ed25519 public key")
    }
    publicKey = try Ed25519PublicKey(publicBytes)
  }

  /// The signature, 64 bytes.
  public func signature(for message: some Sequence<UInt8>) throws(CryptographyError) -> [UInt8] {
    let key = try Self.key(bytes)
    defer { EVP_PKEY_free(key) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Ed25519PublicKey.signatureByteCount)
    var count = signature.count
    let message = Array(message)
    guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
      EVP_DigestSign(context, &signature, &count, message, message.count) == 1
    else { throw CryptographyError(.failed, "signing with Ed25519") }
    return signature
  }

  private static func key(_ bytes: [UInt8]) throws(CryptographyError) -> OpaquePointer {
    guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes, bytes.count) else {
      throw CryptographyError(.failed, "loading an Ed25519 private key")
    }
    return key
  }
}

extension Ed25519PrivateKey: CustomStringConvertible, CustomReflectable {
  /// Omits the key: descriptions end up in logs.
  public var description: String { "an Ed25519 private key" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A key that verifies Ed25519 signatures.
public struct Ed25519PublicKey: Sendable, Hashable {
  /// The length of a key, in bytes.
  public static let byteCount = 32
  /// The length of a signature, in bytes.
  public static let signatureByteCount = 64

  public let bytes: [UInt8]

  /// - Throws: `invalidParameters` for anything but 32 bytes.
  public init(_ bytes: [UInt8]) throws(CryptographyError) {
    guard bytes.count == Self.byteCount else {
      throw CryptographyError(.invalidParameters, "an Ed25519 public key has 32 bytes, not \(bytes.count)")
    }
    self.bytes = bytes
  }

  /// Whether `signature` was made for `message` with the matching private key. Also false for bytes that are not a
  /// point on the curve.
  public func isValid(_ signature: [UInt8], for message: some Sequence<UInt8>) -> Bool {
    guard signature.count == Self.signatureByteCount,
      let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
    else {
      ERR_clear_error()
      return false
    }
    defer { EVP_PKEY_free(key) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let message = Array(message)
    let isValid =
      EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    ERR_clear_error()
    return isValid
  }
}
