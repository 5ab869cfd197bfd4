import Cryptography

/// Remembers keys in a fixed amount of memory, for a dry run: a Bloom filter. It knows every key that was added; of ten
/// million others it takes about one in a thousand for known.
struct ReferenceFilter: Sendable {
  private static let bits = 1 << 28
  private var words = [UInt64](repeating: 0, count: bits / 64)

  mutating func insert(_ key: String) {
    for bit in Self.places(key) { words[bit >> 6] |= 1 << UInt64(bit & 63) }
  }

  func contains(_ key: String) -> Bool {
    Self.places(key).allSatisfy { words[$0 >> 6] & (1 << UInt64($0 & 63)) != 0 }
  }

  private static func places(_ key: String) -> [Int] {
    let digest = SHA256.hash(of: key.utf8)
    return (0..<4).map { place in
      digest[4 * place..<4 * place + 4].reduce(0) { $0 << 8 | Int($1) } & (bits - 1)
    }
  }
}
