import Foundation

/// A meeting of two devices, as one of them sees it.
public struct Meeting: Sendable, Hashable {
  /// The state of a meeting.
  public enum State: String, Sendable, Hashable {
    /// Waiting for the other device to enter the code.
    case open
    case joined
    /// Both devices have sealed the same record, which is now an agreement.
    case sealed
    case ended
  }

  /// Why a meeting ended.
  public enum Ending: String, Sendable, Hashable {
    case expired
    /// Too many wrong codes were entered.
    case guessed
    /// One of the two devices left.
    case left
    /// The host began another meeting.
    case replaced
  }

  public let id: Int
  public let isHost: Bool
  public let state: State
  public let ending: Ending?
  public let expiresAt: Date
  /// nil until another device has joined.
  public let peer: Peer?
  /// How many messages the peer has sent.
  public let received: Int
  /// Whether this device has sealed the record.
  public let isSealedByMe: Bool

  /// The other device.
  public struct Peer: Sendable, Hashable {
    public let account: AccountSummary
    public let key: [UInt8]
    public let commitment: [UInt8]
    /// nil until the device has opened its commitment.
    public let nonce: [UInt8]?
  }
}

/// A device's first message about itself, validated on creation.
public struct MeetingIntroduction: Sendable, Hashable {
  let key: [UInt8]
  let commitment: [UInt8]

  /// - Throws: `invalid_publicKey`, `invalid_commitment`.
  public init(key: String, commitment: String) throws(SocialError) {
    self.key = try AgreementBytes.read(key, "publicKey", MeetingTranscript.keyCount...MeetingTranscript.keyCount)
    self.commitment = try AgreementBytes.read(commitment, "commitment", 32...32)
  }
}

/// A record as one of the two devices seals it, validated on creation.
public struct MeetingSeal: Sendable, Hashable {
  let hash: [UInt8]
  let signature: [UInt8]
  let copy: [UInt8]
  let expiresAt: Date

  /// - Parameter expiresAt: in seconds since 1970, as in the record.
  /// - Throws: `invalid_hash`, `invalid_signature`, `invalid_copy`, `invalid_expiresAt`.
  public init(hash: String, signature: String, copy: String, expiresAt: Int, now: Date) throws(SocialError) {
    self.hash = try AgreementBytes.read(hash, "hash", 32...32)
    self.signature = try AgreementBytes.read(signature, "signature", 64...64)
    self.copy = try AgreementBytes.read(copy, "copy", 28...65_536)
    let seconds = now.timeIntervalSince1970
    guard Double(expiresAt) > seconds, Double(expiresAt) <= seconds + 366 * 86_400 else {
      throw .invalid("expiresAt", "must be in the future and within a year, in seconds since 1970")
    }
    self.expiresAt = Date(timeIntervalSince1970: Double(expiresAt))
  }
}
