import Cryptography
import Testing

@Suite("scrypt is RFC 7914's")
struct ScryptTests {
  /// RFC 7914, section 12, without the one of 1 GiB.
  static let vectors: [(String, String, Scrypt, String)] = [
    (
      "", "", Scrypt(logarithm: 4, blockSize: 1, parallelism: 1),
      "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
        + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
    ),
    (
      "password", "NaCl", Scrypt(logarithm: 10, blockSize: 8, parallelism: 16),
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
    ),
    (
      "pleaseletmein", "SodiumChloride", Scrypt(logarithm: 14, blockSize: 8, parallelism: 1),
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
    ),
  ]

  @Test("A key is the RFC's, and a shorter one its beginning", arguments: vectors)
  func keys(password: String, salt: String, scrypt: Scrypt, key: String) throws {
    let found = try scrypt.key(from: Array(password.utf8), salt: Array(salt.utf8), count: 64)
    #expect(found.hexadecimal == key)
    #expect(try scrypt.key(from: Array(password.utf8), salt: Array(salt.utf8), count: 32) == Array(found.prefix(32)))
  }

  @Test("A password may have a zero byte in it")
  func zeros() throws {
    let scrypt = Scrypt(logarithm: 4, blockSize: 1, parallelism: 1)
    #expect(
      try scrypt.key(from: [1, 0, 2], salt: [0, 1], count: 32) != scrypt.key(from: [1, 0, 3], salt: [0, 1], count: 32))
  }

  @Test(
    "Parameters outside of the RFC's ranges, and those that need too much memory, are refused",
    arguments: [
      Scrypt(logarithm: 0, blockSize: 8, parallelism: 1), Scrypt(logarithm: -1, blockSize: 8, parallelism: 1),
      Scrypt(logarithm: 15, blockSize: 0, parallelism: 1), Scrypt(logarithm: 15, blockSize: 8, parallelism: 0),
      Scrypt(logarithm: 16, blockSize: 1, parallelism: 1), Scrypt(logarithm: 63, blockSize: 8, parallelism: 1),
      Scrypt(logarithm: 24, blockSize: 8, parallelism: 1), Scrypt(logarithm: 15, blockSize: .max, parallelism: .max),
    ])
  func refusals(scrypt: Scrypt) throws {
    let error = #expect(throws: CryptographyError.self) { try scrypt.key(from: [1], salt: [2], count: 32) }
    #expect(error?.code == .invalidParameters)
  }

  @Test("A key has at least a byte")
  func emptyKey() {
    let scrypt = Scrypt(logarithm: 4, blockSize: 1, parallelism: 1)
    #expect(throws: CryptographyError.self) { try scrypt.key(from: [1], salt: [2], count: 0) }
  }
}
