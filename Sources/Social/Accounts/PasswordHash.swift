import Cryptography
import Foundation

/// A stored password hash: scrypt (RFC 7914) with its parameters and salt, in the PHC string format,
/// `$scrypt$ln=15,r=8,p=3$SALT$HASH`, with Base64 without padding.
///
/// Accounts imported from Firebase have `$firebase-scrypt$…` until their first sign-in; see `FirebaseScrypt`.
struct PasswordHash: Sendable, CustomStringConvertible {
  /// How the hash follows from the password; the name in the stored text.
  enum Scheme: String, Sendable {
    case scrypt
    /// The hash is the key stream of AES-256-CTR whose key is scrypt's first 32 bytes.
    case firebase = "firebase-scrypt"
  }

  var scheme = Scheme.scrypt
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

  /// Parses a PHC string; nil if it is of no known scheme, or needs more than 1 GiB.
  init?(_ text: String) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 5, parts[0].isEmpty, let scheme = Scheme(rawValue: parts[1]) else { return nil }
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
    self.scheme = scheme
    (self.logarithm, self.blockSize, self.parallelism) = (logarithm, blockSize, parallelism)
    self.salt = salt
    self.hash = hash
  }

  /// A hash from Firebase, whose password is unknown.
  init(firebase parameters: Parameters, salt: [UInt8], keyStream: [UInt8]) {
    scheme = .firebase
    (logarithm, blockSize, parallelism) = parameters
    self.salt = salt
    hash = keyStream
  }

  var description: String {
    "$\(scheme.rawValue)$ln=\(logarithm),r=\(blockSize),p=\(parallelism)$\(Self.text(salt))$\(Self.text(hash))"
  }

  /// The number of blocks mixed, which is the cost of a guess.
  static func work(_ parameters: Parameters) -> Int {
    (parameters.blockSize * parameters.parallelism) << parameters.logarithm
  }

  /// Whether the hash is to be renewed: a guess costs less than one with these parameters, or the scheme is another.
  func isWeaker(than parameters: Parameters) -> Bool {
    scheme != .scrypt || Self.work((logarithm, blockSize, parallelism)) < Self.work(parameters)
  }

  /// Whether two hashes come from the same password: a renewed hash keeps the password's original salt.
  static func areOfOnePassword(_ one: String, _ other: String) -> Bool {
    if one == other { return true }
    guard let one = PasswordHash(one), let other = PasswordHash(other) else { return false }
    return one.salt == other.salt
  }

  /// How many keys a check of `password` derives unless the first one matches.
  func derivations(of password: String) -> Int {
    let isCanonical = password.utf8.elementsEqual(password.precomposedStringWithCanonicalMapping.utf8)
    return scheme == .firebase && !isCanonical ? 2 : 1
  }

  /// Whether `password` matches. The comparison time does not depend on where the first difference is.
  func matches(_ password: String) throws -> Bool {
    // Another keyboard may produce the same password in decomposed form, so hash one canonical form.
    let canonical = Array(password.precomposedStringWithCanonicalMapping.utf8)
    if isEqualInConstantTime(try derive(canonical, count: hash.count), hash) { return true }
    // Firebase hashed what the keyboard produced.
    let typed = Array(password.utf8)
    guard scheme == .firebase, typed != canonical else { return false }
    return isEqualInConstantTime(try derive(typed, count: hash.count), hash)
  }

  private func derive(_ password: String, count: Int) throws -> [UInt8] {
    try derive(Array(password.precomposedStringWithCanonicalMapping.utf8), count: count)
  }

  private func derive(_ password: [UInt8], count: Int) throws -> [UInt8] {
    let scrypt = Scrypt(logarithm: logarithm, blockSize: blockSize, parallelism: parallelism)
    switch scheme {
    case .scrypt: return try scrypt.key(from: password, salt: salt, count: count)
    case .firebase:
      let key = try scrypt.key(from: password, salt: salt, count: AES256CTR.keyCount)
      return try AES256CTR.keyStream(key, count: count)
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(Data(bytes).base64EncodedString().prefix { $0 != "=" })
  }

  private static func bytes(_ text: String) -> [UInt8]? {
    Data(base64Encoded: text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)).map(Array.init)
  }
}
