/// Numbers that depend only on a seed and a text: the same in every process and on every machine.
struct StableHash: Sendable {
  private var state: UInt64

  /// FNV-1a over the bytes, from the seed.
  init(_ bytes: some Sequence<UInt8>, seed: UInt64) {
    state = 0xCBF2_9CE4_8422_2325 ^ seed
    for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }

  /// SplitMix64 (Steele, Lea, Flood 2014).
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func next(below limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// `count` bytes in base64url without padding.
  mutating func base64(bytes count: Int) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 56) }
    var text: [UInt8] = []
    var (bits, held) = (0, 0)
    for byte in bytes {
      (bits, held) = (bits << 8 | Int(byte), held + 8)
      while held >= 6 {
        held -= 6
        text.append(alphabet[bits >> held & 63])
        bits &= 1 << held - 1
      }
    }
    if held > 0 { text.append(alphabet[bits << (6 - held) & 63]) }
    return String(decoding: text, as: UTF8.self)
  }
}
