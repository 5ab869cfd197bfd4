import Cryptography
import Foundation

/// A stored password hash: scrypt (RFC 7914) with its parameters and salt, in the PHC string format,
/// `$scrypt$ln=15,r=8,p=3$SALT$HASH`, with Base64 without padding.
struct PasswordHash: Sendable, CustomStringConvertible {
  /// The binary logarithm of scrypt's N.
  var logarithm: Int
  var blockSize: Int
  var parallelism: Int
  var salt: [UInt8]
  var hash: [UInt8]

  typealias Parameters = (logarithm: Int, blockSize: Int, parallelism: Int)

  /// N = 2¹⁵, r = 8, p = 3: 32 MiB and about 0.3 s, as OWASP's Password Storage Cheat Sheet recommends for this N.
  static let standard: Parameters = (logarithm: 15, blockSize: 8, parallelism: 3)

  /// Derives the hash of a password. Takes about 0.3 s of one core, so never call it on an event loop.
  ///
  /// - Parameter salt: nil for a new random salt.
  init(of password: String, parameters: Parameters = standard, salt: [UInt8]? = nil) throws {
    (logarithm, blockSize, parallelism) = parameters
    self.salt = salt ?? .random(count: 16)
    hash = []
    hash = try derive(password, count: 32)
  }

  /// Parses a PHC string; nil if it is not scrypt's, or needs more than 1 GiB.
  init?(_ text: String) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt" else { return nil }
    var numbers: [String: Int] = [:]
    for setting in parts[2].split(separator: ",") {
      let pair = setting.split(separator: "=")
      guard pair.count == 2, let number = Int(pair[1]), number > 0 else { return nil }
      numbers[String(pair[0])] = number
    }
    guard let logarithm = numbers["ln"], let blockSize = numbers["r"], let parallelism = numbers["p"],
      logarithm <= 20, blockSize <= 32, parallelism <= 16, 128 * blockSize << logarithm <= 1 << 30,
      let salt = Self.bytes(parts[3]), let hash = Self.bytes(parts[4]), !hash.isEmpty
    else { return nil }
    (self.logarithm, self.blockSize, self.parallelism) = (logarithm, blockSize, parallelism)
    self.salt = salt
    self.hash = hash
  }

  var description: String {
    "$scrypt$ln=\(logarithm),r=\(blockSize),p=\(parallelism)$\(Self.text(salt))$\(Self.text(hash))"
  }

  /// The number of blocks mixed, which is the cost of a guess.
  private static func work(_ parameters: Parameters) -> Int {
    (parameters.blockSize * parameters.parallelism) << parameters.logarithm
  }

  /// Whether a guess costs less than one with these parameters.
  func isWeaker(than parameters: Parameters) -> Bool {
    Self.work((logarithm, blockSize, parallelism)) < Self.work(parameters)
  }

  /// Whether two hashes come from the same password: a renewed hash keeps the password's original salt.
  static func areOfOnePassword(_ one: String, _ other: String) -> Bool {
    if one == other { return true }
    guard let one = PasswordHash(one), let other = PasswordHash(other) else { return false }
    return one.salt == other.salt
  }

  /// Whether `password` matches. The comparison time does not depend on where the first difference is.
  func matches(_ password: String) throws -> Bool {
    isEqualInConstantTime(try derive(password, count: hash.count), hash)
  }

  private func derive(_ password: String, count: Int) throws -> [UInt8] {
    // Another keyboard may produce the same password in decomposed form, so hash one canonical form.
    let bytes = Array(password.precomposedStringWithCanonicalMapping.utf8)
    return try Scrypt(logarithm: logarithm, blockSize: blockSize, parallelism: parallelism)
      .key(from: bytes, salt: salt, count: count)
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(Data(bytes).base64EncodedString().prefix { $0 != "=" })
  }

  private static func bytes(_ text: String) -> [UInt8]? {
    Data(base64Encoded: text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)).map(Array.init)
  }
}
