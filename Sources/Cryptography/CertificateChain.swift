import CLibCrypto
import Glibc

/// Verifies chains of X.509 certificates (RFC 5280) against one trusted root.
public enum CertificateChain {
  /// Verifies that a chain leads to the root, and returns the key of its first certificate.
  ///
  /// - Parameters:
  ///   - chain: certificates in DER, each signed by the next; the root may be omitted.
  ///   - root: the trusted root, in DER.
  ///   - seconds: the time since 1970 at which each certificate must be valid.
  ///   - leafMark: the number of an extension that the first certificate must have, such as
  ///     `1.2.840.113635.100.6.11.1`.
  ///   - issuerMark: the number of an extension that its issuer must have.
  /// - Throws: `untrusted` with the reason; `invalidParameters` for bytes that are not a certificate.
  public static func key(
    of chain: [[UInt8]], root: [UInt8], at seconds: Int, leafMark: String, issuerMark: String
  ) throws(CryptographyError) -> P256PublicKey {
    guard (1...6).contains(chain.count) else {
      throw CryptographyError(.invalidParameters, "a chain must have 1 to 6 certificates, not \(chain.count)")
    }
    var read: [OpaquePointer] = []
    defer { read.forEach(X509_free) }
    for certificate in chain { read.append(try self.certificate(certificate)) }
    let trusted = try certificate(root)
    defer { X509_free(trusted) }

    let (store, context, others) = (X509_STORE_new(), X509_STORE_CTX_new(), OPENSSL_sk_new_null())
    defer {
      X509_STORE_CTX_free(context)
      X509_STORE_free(store)
      OPENSSL_sk_free(others)
    }
    for certificate in read.dropFirst() { OPENSSL_sk_push(others, UnsafeRawPointer(certificate)) }
    guard X509_STORE_add_cert(store, trusted) == 1, X509_STORE_CTX_init(context, store, read[0], others) == 1 else {
      throw CryptographyError(.failed, "preparing to check a chain")
    }
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context), time_t(seconds))
    guard X509_verify_cert(context) == 1 else {
      let reason = X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context)))
      throw CryptographyError(.untrusted, "the chain of certificates", reason: reason.map { String(cString: $0) })
    }
    // The verified chain: further certificates in the input prove nothing.
    let checked = X509_STORE_CTX_get0_chain(context)
    guard OPENSSL_sk_num(checked) > 1, let issuer = OPENSSL_sk_value(checked, 1) else {
      throw CryptographyError(.untrusted, "a root certificate cannot be the signer's")
    }
    guard has(leafMark, read[0]), has(issuerMark, OpaquePointer(issuer)) else {
      throw CryptographyError(.untrusted, "the certificates are for another purpose")
    }
    guard let key = X509_get0_pubkey(read[0]) else { throw CryptographyError(.failed, "reading a certificate's key") }
    return try P256PublicKey(key)
  }

  /// - Throws: `invalidParameters` for bytes that are not a certificate in DER.
  public static func check(_ certificate: [UInt8]) throws(CryptographyError) {
    X509_free(try self.certificate(certificate))
  }

  private static func certificate(_ bytes: [UInt8]) throws(CryptographyError) -> OpaquePointer {
    let read = bytes.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      return d2i_X509(nil, &place, bytes.count)
    }
    guard let read else { throw CryptographyError(.invalidParameters, "a certificate in DER") }
    return read
  }

  private static func has(_ mark: String, _ certificate: OpaquePointer) -> Bool {
    guard let object = OBJ_txt2obj(mark, 1) else { return false }
    defer { ASN1_OBJECT_free(object) }
    return X509_get_ext_by_OBJ(certificate, object, -1) >= 0
  }
}
