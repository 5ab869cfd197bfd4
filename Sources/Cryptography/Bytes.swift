import CLibCrypto

/// Whether two secrets are equal. The time taken reveals only their lengths, not where they differ.
public func isEqualInConstantTime(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
}

extension Array where Element == UInt8 {
  /// Cryptographically secure random bytes, from the kernel (getrandom).
  public static func random(count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}

extension Sequence<UInt8> {
  /// Two lowercase hexadecimal digits per byte.
  public var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// Passes the bytes to C, copying them only if they are not contiguous.
func withContiguousBytes<Result>(
  of bytes: some Sequence<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result
) -> Result {
  bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}
