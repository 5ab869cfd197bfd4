import Cryptography

/// The values that the two devices of a meeting commit to and sign. `docs/agreements.md` defines their format.
enum MeetingTranscript {
  /// The combined length of a device's two public keys.
  static let keyCount = 64
  static let nonceCount = 32

  static func commitment(to key: [UInt8], _ nonce: [UInt8], isHosts: Bool) -> [UInt8] {
    hash("fanmill agreement commitment 1", [isHosts ? 1 : 2], key, nonce)
  }

  static func of(
    host: (key: [UInt8], nonce: [UInt8]), joiner: (key: [UInt8], nonce: [UInt8])
  ) -> [UInt8] {
    hash("fanmill agreement transcript 1", host.key, host.nonce, joiner.key, joiner.nonce)
  }

  /// The value that both devices sign for the record with this hash.
  static func signed(_ transcript: [UInt8], _ record: [UInt8]) -> [UInt8] {
    hash("fanmill agreement seal 1", transcript, record)
  }

  private static func hash(_ label: String, _ parts: [UInt8]...) -> [UInt8] {
    SHA256.hash(of: Array(label.utf8) + [0] + parts.joined())
  }
}
