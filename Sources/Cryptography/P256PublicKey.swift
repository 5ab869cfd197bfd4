import CLibCrypto

/// A key that verifies ECDSA signatures on P-256 with SHA-256 (ES256 of RFC 7518).
public struct P256PublicKey: Sendable, Hashable {
  /// SubjectPublicKeyInfo in DER.
  private let form: [UInt8]

  /// - Parameter key: a libcrypto key, which the caller keeps owning.
  /// - Throws: `invalidParameters` for a key of another kind.
  init(_ key: OpaquePointer) throws(CryptographyError) {
    var name = [CChar](repeating: 0, count: 64)
    guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC, EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1,
      String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) == "prime256v1"
    else { throw CryptographyError(.invalidParameters, "the key is not a P-256 key") }
    var start: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(key, &start)
    guard count > 0, let start else { throw CryptographyError(.failed, "writing a public key") }
    defer { CRYPTO_free(start, #file, Int32(#line)) }
    form = Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }

  /// - Parameter signature: its two numbers, 32 bytes each.
  public func isValid(_ signature: [UInt8], for message: some Sequence<UInt8>) -> Bool {
    defer { ERR_clear_error() }
    guard signature.count == 64, let numbers = ECDSA_SIG_new() else { return false }
    defer { ECDSA_SIG_free(numbers) }
    let (r, s) = (BN_bin2bn(signature, 32, nil), BN_bin2bn(Array(signature[32...]), 32, nil))
    // From here on, the signature owns them.
    guard ECDSA_SIG_set0(numbers, r, s) == 1 else {
      BN_free(r)
      BN_free(s)
      return false
    }
    var start: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(numbers, &start)
    guard count > 0, let start else { return false }
    defer { CRYPTO_free(start, #file, Int32(#line)) }
    let key = form.withUnsafeBufferPointer { form in
      var place = form.baseAddress
      return d2i_PUBKEY(nil, &place, form.count)
    }
    guard let key else { return false }
    defer { EVP_PKEY_free(key) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let message = Array(message)
    return EVP_DigestVerifyInit(context, nil, SHA256.algorithm, nil, key) == 1
      && EVP_DigestVerify(context, start, Int(count), message, message.count) == 1
  }
}
