import Cryptography
import Testing

@Suite("SHA-256 and HMAC are the standards'")
struct SHA256Tests {
  /// RFC 6234, section 8.5: SHA-256, tests 1 to 4, and the empty message.
  @Test(
    "A digest is the one of RFC 6234",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        String(repeating: "a", count: 1_000_000),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
      ),
      (
        String(repeating: "01234567", count: 80),
        "594847328451bdfa85056225462cc1d867d877fb388df0ce35f25ab5562bfbb5"
      ),
    ])
  func digests(message: String, digest: String) {
    #expect(SHA256.hash(of: message.utf8).hexadecimal == digest)
    #expect(SHA256.hash(of: Array(message.utf8)).hexadecimal == digest)
    // Bytes that are not contiguous.
    #expect(SHA256.hash(of: message.utf8.lazy.map { $0 }).hexadecimal == digest)
  }

  /// RFC 4231, section 4: key, message, code.
  static let vectors: [([UInt8], [UInt8], String)] = [
    (
      Array(repeating: 0x0B, count: 20), Array("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      Array(repeating: 0xAA, count: 20), Array(repeating: 0xDD, count: 50),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
    ),
    (
      Array(1...25), Array(repeating: 0xCD, count: 50),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
    ),
    (
      Array(repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
    (
      Array(repeating: 0xAA, count: 131),
      Array(
        ("This is a test using a larger than block-size key and a larger than block-size data. "
          + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
    ),
  ]

  @Test("A code is the one of RFC 4231, and no other is valid", arguments: vectors)
  func codes(key: [UInt8], message: [UInt8], code: String) {
    let hmac = HMACSHA256(key: key)
    let found = hmac.code(for: message)
    #expect(found.hexadecimal == code)
    #expect(hmac.isValid(found, for: message))
    #expect(!hmac.isValid(found, for: message + [0]))
    #expect(!hmac.isValid(found.dropLast(), for: message))
    #expect(!hmac.isValid([], for: message))
    for index in found.indices {
      var changed = found
      changed[index] ^= 1
      #expect(!hmac.isValid(changed, for: message))
    }
    #expect(!HMACSHA256(key: key + [1]).isValid(found, for: message))
  }

  @Test("An empty key and an empty message have a code, too")
  func nothing() {
    #expect(
      HMACSHA256(key: []).code(for: []).hexadecimal
        == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
  }

  @Test("No description of a code's maker shows its key")
  func descriptions() {
    let hmac = HMACSHA256(key: Array("sesame".utf8))
    var dumped = ""
    dump(hmac, to: &dumped)
    for text in ["\(hmac)", String(reflecting: hmac), dumped] { #expect(!text.contains("115"), "\(text)") }
  }

  @Test("The digest of pieces is that of the whole", arguments: [0, 1, 55, 56, 64, 1000, 100_000])
  func pieces(_ count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for size in [1, 7, 64, 4096] {
      var hasher = SHA256Hasher()
      for start in stride(from: 0, to: count, by: size) {
        bytes[start..<min(start + size, count)].withUnsafeBytes { hasher.update($0) }
      }
      hasher.update(UnsafeRawBufferPointer(start: nil, count: 0))
      #expect(hasher.digest() == SHA256.hash(of: bytes))
    }
  }

  @Test("Digests are made on many threads at once")
  func threads() async {
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<64 {
        group.addTask {
          let expected = SHA256.hash(of: "\(number)".utf8)
          return (0..<200).allSatisfy { _ in SHA256.hash(of: "\(number)".utf8) == expected }
        }
      }
      for await isSame in group { #expect(isSame) }
    }
  }
}
