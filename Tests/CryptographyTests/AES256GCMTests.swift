import Testing

@testable import Cryptography

@Suite struct AES256GCMTests {
  private let box = AES256GCM(secret: "a secret".utf8, purpose: "tests")

  /// Made by Python's package `cryptography`: HKDF with SHA-256 and no salt, then AESGCM.
  @Test func bytesThatAnotherProgramSealedOpen() throws {
    let sealed: [UInt8] = [
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 249, 36, 193, 202, 139, 75, 50, 199, 219,
      228, 180, 145, 241, 65, 103, 220, 145, 92, 129, 166, 41, 236, 57, 198, 110, 148, 238, 195, 245, 157,
    ]
    #expect(box.open(sealed, for: "ann") == Array("what is hidden".utf8))
  }

  @Test func whatWasSealedOpensForItsKeyPurposeAndContext() throws {
    for bytes in [[], [7], [UInt8](repeating: 3, count: 100_000)] as [[UInt8]] {
      let sealed = try box.seal(bytes, for: "ann")
      #expect(sealed.count == bytes.count + 28)
      #expect(box.open(sealed, for: "ann") == bytes)
      #expect(box.open(sealed, for: "bob") == nil)
      #expect(AES256GCM(secret: "a secret".utf8, purpose: "others").open(sealed, for: "ann") == nil)
      #expect(AES256GCM(secret: "another".utf8, purpose: "tests").open(sealed, for: "ann") == nil)
    }
    #expect(try box.seal([1], for: "ann") != box.seal([1], for: "ann"))
  }

  @Test func anyChangeIsSeen() throws {
    let sealed = try box.seal(Array("what is hidden".utf8), for: "ann")
    for place in sealed.indices {
      var changed = sealed
      changed[place] ^= 1
      #expect(box.open(changed, for: "ann") == nil)
    }
    for count in 0..<sealed.count { #expect(box.open(Array(sealed.prefix(count)), for: "ann") == nil) }
  }

  @Test func noDescriptionShowsTheKey() {
    #expect("\(box)" == "AES-256-GCM" && Mirror(reflecting: box).children.isEmpty)
  }
}
