import Cryptography
import Foundation

/// The password hash parameters of a Firebase project, and the hashes made with them.
///
/// Firebase derives a key from the password with scrypt and encrypts the project's signer key with it, in AES-256-CTR
/// from a zero counter; the ciphertext is the hash (https://github.com/firebase/scrypt). The signer key is the same
/// for all accounts, so hash XOR signer key is the cipher's key stream, which depends on the password and the salt
/// alone. That is what accounts keep: checking it needs no signer key, which therefore is stored nowhere.
struct FirebaseScrypt: Sendable {
  private let signerKey: [UInt8]
  private let saltSeparator: [UInt8]
  private let parameters: PasswordHash.Parameters

  /// Why parameters or a hash were refused. Contains neither.
  struct Refusal: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter text: what the Firebase console shows under "Password hash parameters", or the same as JSON:
  ///   `hash_config { algorithm: SCRYPT, base64_signer_key: …, base64_salt_separator: …, rounds: 8, mem_cost: 14 }`.
  init(_ text: String) throws(Refusal) {
    let values = Self.values(text)
    let algorithm = values["algorithm"] ?? "SCRYPT"
    guard algorithm.uppercased() == "SCRYPT" else {
      throw Refusal(
        description: "the algorithm is \(algorithm.prefix(40)); only Firebase's own, SCRYPT, can be imported")
    }
    guard let key = values["base64_signer_key"].flatMap(Self.bytes), (1...1024).contains(key.count) else {
      throw Refusal(description: "base64_signer_key is missing or is not Base64")
    }
    guard let separator = values["base64_salt_separator"].flatMap(Self.bytes), separator.count <= 64 else {
      throw Refusal(description: "base64_salt_separator is missing or is not Base64")
    }
    // Firebase's own limits. More would make a sign-in cost more than one with the app's parameters.
    guard let rounds = values["rounds"].flatMap({ Int($0) }), (1...8).contains(rounds) else {
      throw Refusal(description: "rounds is missing or is not a number from 1 to 8")
    }
    guard let cost = values["mem_cost"].flatMap({ Int($0) }), (1...14).contains(cost) else {
      throw Refusal(description: "mem_cost is missing or is not a number from 1 to 14")
    }
    signerKey = key
    saltSeparator = separator
    parameters = (logarithm: cost, blockSize: rounds, parallelism: 1)
  }

  /// The text to store for an exported hash.
  ///
  /// - Parameters:
  ///   - hash: `passwordHash` of the export, in Base64.
  ///   - salt: `salt` of the export, likewise.
  func stored(hash: String, salt: String) throws(Refusal) -> String {
    guard let hash = Self.bytes(hash), hash.count == signerKey.count else {
      throw Refusal(
        description: "passwordHash is not Base64 of \(signerKey.count) bytes, the length of the signer key: "
          + "is the signer key that of this project?")
    }
    guard let salt = Self.bytes(salt), !salt.isEmpty, salt.count <= 256 else {
      throw Refusal(description: "salt is missing or is not Base64")
    }
    let keyStream = zip(hash, signerKey).map { $0 ^ $1 }
    return PasswordHash(firebase: parameters, salt: salt + saltSeparator, keyStream: keyStream).description
  }

  /// The pairs of the text, whatever stands between them.
  private static func values(_ text: String) -> [String: String] {
    let separators: Set<Character> = [" ", "\t", "\n", "\r", "\r\n", ",", ";", "{", "}", "\"", "'", ":"]
    // Base64 may end with '=', so only an '=' right after a name separates.
    var words = text.split { separators.contains($0) }.map(String.init)
    words = words.flatMap { word -> [String] in
      guard let equals = word.firstIndex(of: "="), word[..<equals].contains("_") || word[..<equals] == "rounds",
        word[..<equals].allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
      else { return [word] }
      let value = String(word[word.index(after: equals)...])
      return [String(word[..<equals])] + (value.isEmpty ? [] : [value])
    }
    let names = ["algorithm", "base64_signer_key", "base64_salt_separator", "rounds", "mem_cost"]
    var values: [String: String] = [:]
    for (word, next) in zip(words, words.dropFirst()) where names.contains(word.lowercased()) {
      // After an empty value the next name follows.
      if !names.contains(next.lowercased()) { values[word.lowercased()] = next }
    }
    return values
  }

  /// Base64, also in the URL alphabet and without padding.
  private static func bytes(_ text: String) -> [UInt8]? {
    let plain = text.replacing("-", with: "+").replacing("_", with: "/").prefix { $0 != "=" }
    let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    return Data(base64Encoded: plain + padding).map(Array.init)
  }
}

extension FirebaseScrypt: CustomReflectable {
  /// Omits the key: descriptions end up in logs.
  var customMirror: Mirror { Mirror(self, children: []) }
}
