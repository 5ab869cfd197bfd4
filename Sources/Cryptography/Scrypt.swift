import CLibCrypto

/// scrypt (RFC 7914): derives a key from a password, at a cost in time and memory.
public struct Scrypt: Sendable, Hashable {
  /// The binary logarithm of the cost N.
  public var logarithm: Int
  /// r: a block has 128 r bytes.
  public var blockSize: Int
  /// p: the number of mixing passes.
  public var parallelism: Int

  public init(logarithm: Int, blockSize: Int, parallelism: Int) {
    self.logarithm = logarithm
    self.blockSize = blockSize
    self.parallelism = parallelism
  }

  /// The most memory that a derivation may take, in bytes.
  public static let maxMemory = 1 << 31

  /// The most mixing passes.
  public static let maxParallelism = 1 << 14

  /// Derives a key, in about 128 r N bytes of memory. CPU-bound, so not for an event loop.
  ///
  /// - Parameter count: the key's length, in bytes, at least 1.
  /// - Throws: `.invalidParameters` for parameters or a length outside RFC 7914's ranges or over `maxMemory`; `.failed`
  ///   if memory is exhausted.
  public func key(from password: [UInt8], salt: [UInt8], count: Int) throws(CryptographyError) -> [UInt8] {
    // N stays below 2 to the power of 16 r; the other limits keep `memory` from overflowing.
    guard (1...30).contains(logarithm), (1...1 << 14).contains(blockSize),
      (1...Self.maxParallelism).contains(parallelism), logarithm < 16 * blockSize, count > 0, memory <= Self.maxMemory
    else { throw CryptographyError(.invalidParameters, "scrypt with \(self) for \(count) bytes") }
    var key = [UInt8](repeating: 0, count: count)
    // As characters, the function's type for passwords.
    let isDone = password.withUnsafeBytes { password in
      EVP_PBE_scrypt(
        password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count, salt, salt.count,
        1 << UInt64(logarithm), UInt64(blockSize), UInt64(parallelism), UInt64(Self.maxMemory), &key, count)
    }
    guard isDone == 1 else { throw CryptographyError(.failed, "scrypt with \(self)") }
    return key
  }

  /// The bytes that libcrypto allocates for mixing: N + 2 blocks, and p more.
  private var memory: Int { 128 * blockSize * ((1 << logarithm) + 2 + parallelism) }
}

extension Scrypt: CustomStringConvertible {
  public var description: String { "ln=\(logarithm),r=\(blockSize),p=\(parallelism)" }
}
