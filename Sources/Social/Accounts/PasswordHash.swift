import Cryptography
import Foundation

/// A password as it is kept: scrypt (RFC 7914) with its parameters and salt, in the PHC string format,
/// `$scrypt$ln=15,r=8,p=3$SALT$HASH` with Base64 without padding.
struct PasswordHash: Sendable, CustomStringConvertible {
  /// The binary logarithm of scrypt's N.
  var logarithm: Int
  var blockSize: Int
  var parallelism: Int
  var salt: [UInt8]
  var hash: [UInt8]

  typealias Parameters = (logarithm: Int, blockSize: Int, parallelism: Int)

  /// N = 2¹⁵, r = 8, p = 3: 32 MiB and about 0.3 s, which OWASP's cheat sheet on password storage asks for at this N.
  static let standard: Parameters = (logarithm: 15, blockSize: 8, parallelism: 3)

  /// Derives the hash of a password. Takes about 0.3 s of one core: not on an event loop.
  ///
  /// - Parameter salt: a fresh one if nil.
  init(of password: String, parameters: Parameters = standard, salt: [UInt8]? = nil) throws {
    (logarithm, blockSize, parallelism) = parameters
    self.salt = salt ?? .random(count: 16)
    hash = []
    hash = try derive(password, count: 32)
  }

  /// Reads a PHC string; nil if it is none of scrypt's, or asks for more than 1 GiB.
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

  /// How many blocks are mixed: what a guess costs.
  private static func work(_ parameters: Parameters) -> Int {
    (parameters.blockSize * parameters.parallelism) << parameters.logarithm
  }

  /// Whether a guess at it costs less than at one with these parameters.
  func isWeaker(than parameters: Parameters) -> Bool {
    Self.work((logarithm, blockSize, parallelism)) < Self.work(parameters)
  }

  /// Whether one was made of the other's password: a password's salt is drawn once and stays when its hash is renewed.
  static func areOfOnePassword(_ one: String, _ other: String) -> Bool {
    if one == other { return true }
    guard let one = PasswordHash(one), let other = PasswordHash(other) else { return false }
    return one.salt == other.salt
  }

  /// Whether `password` is the one. The comparison takes the same time wherever the first difference is.
  func matches(_ password: String) throws -> Bool {
    isEqualInConstantTime(try derive(password, count: hash.count), hash)
  }

  private func derive(_ password: String, count: Int) throws -> [UInt8] {
    // The same password typed on another keyboard may come decomposed: one form of it is hashed.
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
