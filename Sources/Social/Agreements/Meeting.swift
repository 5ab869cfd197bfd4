import Foundation

/// How two devices meet, as one of them sees it.
public struct Meeting: Sendable, Hashable {
  /// Where a meeting stands.
  public enum State: String, Sendable, Hashable {
    /// Waits for who types the code.
    case open
    case joined
    /// Both have sealed the same record: it is an agreement now.
    case sealed
    case ended
  }

  /// Why a meeting ended.
  public enum Ending: String, Sendable, Hashable {
    case expired
    /// Too many wrong codes were tried at it.
    case guessed
    /// One of the two left.
    case left
    /// The host began another one.
    case replaced
  }

  public let id: Int
  public let isHost: Bool
  public let state: State
  public let ending: Ending?
  public let expiresAt: Date
  /// nil until somebody has joined.
  public let peer: Peer?
  /// How many messages the peer has sent.
  public let received: Int
  /// Whether this device has given its seal.
  public let isSealedByMe: Bool

  /// The other device.
  public struct Peer: Sendable, Hashable {
    public let account: AccountSummary
    public let key: [UInt8]
    public let commitment: [UInt8]
    /// nil until it has opened its commitment.
    public let nonce: [UInt8]?
  }
}

/// What a device says of itself first. Checked when it is made.
public struct MeetingIntroduction: Sendable, Hashable {
  let key: [UInt8]
  let commitment: [UInt8]

  /// - Throws: `invalid_publicKey`, `invalid_commitment`.
  public init(key: String, commitment: String) throws(SocialError) {
    self.key = try AgreementBytes.read(key, "publicKey", MeetingTranscript.keyCount...MeetingTranscript.keyCount)
    self.commitment = try AgreementBytes.read(commitment, "commitment", 32...32)
  }
}

/// A record as one of the two seals it. Checked when it is made.
public struct MeetingSeal: Sendable, Hashable {
  let hash: [UInt8]
  let signature: [UInt8]
  let copy: [UInt8]
  let expiresAt: Date

  /// - Parameter expiresAt: in seconds since 1970, as the record has it.
  /// - Throws: `invalid_hash`, `invalid_signature`, `invalid_copy`, `invalid_expiresAt`.
  public init(hash: String, signature: String, copy: String, expiresAt: Int, now: Date) throws(SocialError) {
    self.hash = try AgreementBytes.read(hash, "hash", 32...32)
    self.signature = try AgreementBytes.read(signature, "signature", 64...64)
    self.copy = try AgreementBytes.read(copy, "copy", 28...65_536)
    let seconds = now.timeIntervalSince1970
    guard Double(expiresAt) > seconds, Double(expiresAt) <= seconds + 366 * 86_400 else {
      throw .invalid("expiresAt", "is in the future and within a year, in seconds since 1970")
    }
    self.expiresAt = Date(timeIntervalSince1970: Double(expiresAt))
  }
}
