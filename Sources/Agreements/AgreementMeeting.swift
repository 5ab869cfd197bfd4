import Crypto
import Foundation

/// What two devices of a meeting do, each for itself: they commit, open, show the same four words, and talk sealed.
///
/// The server carries everything and may be a liar. It learns the keys, which it could replace by its own: then the
/// words differ, since it had to commit to its nonces before it saw the devices'.
public struct AgreementMeeting: Sendable {
  public let role: AgreementRole
  private let keys: AgreementKeys
  private var peer: (key: AgreementPublicKey, commitment: [UInt8])?
  private var opened: Opened?

  private struct Opened: Sendable {
    let transcript: [UInt8]
    let peer: AgreementPublicKey
    var channel: SealedChannel
  }

  public init(as role: AgreementRole, keys: AgreementKeys = AgreementKeys()) {
    self.role = role
    self.keys = keys
  }

  /// What goes to the server first.
  public var introduction: (publicKey: [UInt8], commitment: [UInt8]) {
    (keys.publicKey.bytes, keys.commitment(as: role))
  }

  /// Takes what the server says is the peer's introduction.
  ///
  /// - Returns: the opening. Send it only now: the peer's commitment fixes the peer's nonce.
  /// - Throws: `malformed`, `outOfTurn` for a second introduction.
  public mutating func meet(publicKey: [UInt8], commitment: [UInt8]) throws(AgreementError) -> [UInt8] {
    guard peer == nil else { throw AgreementError(.outOfTurn, "the peer has introduced itself already") }
    guard commitment.count == SHA256.byteCount else { throw AgreementError(.malformed, "a commitment has 32 bytes") }
    let key = try AgreementPublicKey(publicKey)
    // A reflection of one's own messages is no peer.
    guard key.bytes != keys.publicKey.bytes else { throw AgreementError(.tampered, "the peer has this device's keys") }
    peer = (key, commitment)
    return keys.nonce
  }

  /// Takes the peer's opening.
  ///
  /// - Returns: the four words that both people compare, aloud or by looking at both screens.
  /// - Throws: `brokenCommitment`, `outOfTurn`, `malformed`.
  public mutating func open(_ nonce: [UInt8]) throws(AgreementError) -> [String] {
    guard let peer, opened == nil else { throw AgreementError(.outOfTurn, "an opening follows an introduction, once") }
    guard nonce.count == AgreementKeys.nonceCount,
      AgreementKeys.commitment(to: peer.key, nonce, as: role.peer) == peer.commitment
    else { throw AgreementError(.brokenCommitment, "the peer's opening is not what it committed to") }
    let (host, joiner) = role == .host ? (keys.publicKey, peer.key) : (peer.key, keys.publicKey)
    let (hostNonce, joinerNonce) = role == .host ? (keys.nonce, nonce) : (nonce, keys.nonce)
    let transcript = Digest.of(
      "fanmill agreement transcript 1", host.bytes, hostNonce, joiner.bytes, joinerNonce)
    let secret: SharedSecret
    do {
      secret = try keys.agreement.sharedSecretFromKeyAgreement(with: peer.key.agreement)
    } catch {
      throw AgreementError(.malformed, "the peer's key makes no secret")
    }
    // A key of a small group makes the same secret with every other (RFC 7748, 6.1).
    guard secret.withUnsafeBytes({ $0.contains { $0 != 0 } }) else {
      throw AgreementError(.malformed, "the peer's key makes no secret")
    }
    opened = Opened(
      transcript: transcript, peer: peer.key, channel: SealedChannel(secret, transcript: transcript, as: role))
    return AgreementWords.of(transcript)
  }

  // MARK: Sealed messages

  /// A message as the server carries it.
  ///
  /// - Throws: `outOfTurn` before the opening.
  public mutating func seal(_ message: AgreementMessage) throws(AgreementError) -> [UInt8] {
    guard var now = opened else { throw AgreementError(.outOfTurn, "messages follow the opening") }
    defer { opened = now }
    return try now.channel.seal(message.bytes())
  }

  /// The peer's next message.
  ///
  /// - Throws: `tampered` for one that was changed, repeated, dropped, or sent by another party; `malformed`.
  public mutating func open(sealed: [UInt8]) throws(AgreementError) -> AgreementMessage {
    guard var now = opened else { throw AgreementError(.outOfTurn, "messages follow the opening") }
    defer { opened = now }
    return try AgreementMessage(bytes: try now.channel.open(sealed))
  }

  // MARK: Sealing the record

  /// This device's signature of a record that is shown to its owner. It goes to the server alone, which gives both
  /// signatures out at once, in the receipts.
  ///
  /// - Throws: `outOfTurn` before the opening.
  public func sign(_ record: AgreementRecord) throws(AgreementError) -> [UInt8] {
    guard let opened else { throw AgreementError(.outOfTurn, "a record follows the opening") }
    let signed = Self.signed(try record.hash, opened.transcript)
    do {
      return Array(try keys.signing.signature(for: signed))
    } catch {
      throw AgreementError(.malformed, "the record cannot be signed")
    }
  }

  /// What this device's owner keeps of a record.
  ///
  /// - Throws: `outOfTurn` before the opening.
  public func copy(of record: AgreementRecord) throws(AgreementError) -> AgreementCopy {
    guard let opened else { throw AgreementError(.outOfTurn, "a record follows the opening") }
    let (own, peer) = (keys.publicKey.bytes, opened.peer.bytes)
    return AgreementCopy(
      record: try record.bytes, transcript: opened.transcript, hostKey: role == .host ? own : peer,
      joinerKey: role == .host ? peer : own)
  }

  /// What both keys and both nonces make, 32 bytes: it stands in what both sign.
  public var transcript: [UInt8]? { opened?.transcript }

  static func signed(_ hash: [UInt8], _ transcript: [UInt8]) -> [UInt8] {
    Digest.of("fanmill agreement seal 1", transcript, hash)
  }
}
