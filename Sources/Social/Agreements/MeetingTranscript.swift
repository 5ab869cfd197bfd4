import Cryptography

/// What the two devices of a meeting commit to, and what they sign: `docs/agreements.md` has the forms.
enum MeetingTranscript {
  /// The length of both public keys of a device.
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

  /// What both sign of the record with this hash.
  static func signed(_ transcript: [UInt8], _ record: [UInt8]) -> [UInt8] {
    hash("fanmill agreement seal 1", transcript, record)
  }

  private static func hash(_ label: String, _ parts: [UInt8]...) -> [UInt8] {
    SHA256.hash(of: Array(label.utf8) + [0] + parts.joined())
  }
}
