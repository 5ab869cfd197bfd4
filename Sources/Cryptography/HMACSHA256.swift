import CLibCrypto

/// HMAC (RFC 2104) with SHA-256: proves that bytes come from a holder of the key.
public struct HMACSHA256: Sendable {
  /// The length of a code, in bytes.
  public static let byteCount = SHA256.byteCount

  private let key: [UInt8]

  /// - Parameter key: any length; 32 random bytes are as strong as the code.
  public init(key: some Sequence<UInt8>) { self.key = Array(key) }

  /// The code for `message`, 32 bytes long.
  public func code(for message: some Sequence<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.byteCount) { code, count in
      let isDone = withContiguousBytes(of: message) { message in
        HMAC(
          SHA256.algorithm, key, Int32(key.count), message.baseAddress, message.count, code.baseAddress, nil) != nil
      }
      guard isDone else { preconditionFailure("\(CryptographyError(.failed, "HMAC of bytes in memory"))") }
      count = Self.byteCount
    }
  }

  /// Whether `code` is the one for `message`. The time taken does not reveal where they differ.
  public func isValid(_ code: [UInt8], for message: some Sequence<UInt8>) -> Bool {
    isEqualInConstantTime(code, self.code(for: message))
  }
}

extension HMACSHA256: CustomStringConvertible, CustomReflectable {
  /// Omits the key: descriptions end up in logs.
  public var description: String { "HMAC-SHA-256" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
