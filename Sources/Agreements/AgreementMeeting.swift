import Crypto
import Foundation

/// The protocol of a meeting, run by each of its two devices: they commit, open, show the same four words, and exchange
/// sealed messages.
///
/// The server relays everything and is not trusted. It sees the public keys and could replace them with its own. The
/// words then differ, because it had to commit to its nonces before it saw the devices' nonces.
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

  /// The first message to the server.
  public var introduction: (publicKey: [UInt8], commitment: [UInt8]) {
    (keys.publicKey.bytes, keys.commitment(as: role))
  }

  /// Accepts the peer's introduction, as relayed by the server.
  ///
  /// - Returns: the opening. Send it only now: the peer's commitment fixes the peer's nonce.
  /// - Throws: `malformed`, `outOfTurn` for a second introduction.
  public mutating func meet(publicKey: [UInt8], commitment: [UInt8]) throws(AgreementError) -> [UInt8] {
    guard peer == nil else { throw AgreementError(.outOfTurn, "the peer has already introduced itself") }
    guard commitment.count == SHA256.byteCount else {
      throw AgreementError(.malformed, "a commitment must have 32 bytes")
    }
    let key = try AgreementPublicKey(publicKey)
    // The device's own messages, reflected, are not a peer.
    guard key.bytes != keys.publicKey.bytes else {
      throw AgreementError(.tampered, "the peer sent this device's own key")
    }
    peer = (key, commitment)
    return keys.nonce
  }

  /// Accepts the peer's opening.
  ///
  /// - Returns: the four words that both people compare, aloud or on both screens.
  /// - Throws: `brokenCommitment`, `outOfTurn`, `malformed`.
  public mutating func open(_ nonce: [UInt8]) throws(AgreementError) -> [String] {
    guard let peer, opened == nil else { throw AgreementError(.outOfTurn, "one opening must follow the introduction") }
    guard nonce.count == AgreementKeys.nonceCount,
      AgreementKeys.commitment(to: peer.key, nonce, as: role.peer) == peer.commitment
    else { throw AgreementError(.brokenCommitment, "the peer's opening does not match its commitment") }
    let (host, joiner) = role == .host ? (keys.publicKey, peer.key) : (peer.key, keys.publicKey)
    let (hostNonce, joinerNonce) = role == .host ? (keys.nonce, nonce) : (nonce, keys.nonce)
    let transcript = Digest.of(
      "fanmill agreement transcript 1", host.bytes, hostNonce, joiner.bytes, joinerNonce)
    let secret: SharedSecret
    do {
      secret = try keys.agreement.sharedSecretFromKeyAgreement(with: peer.key.agreement)
    } catch {
      throw AgreementError(.malformed, "the peer's key yields no shared secret")
    }
    // A small-order key yields the same secret with every other key (RFC 7748, 6.1).
    guard secret.withUnsafeBytes({ $0.contains { $0 != 0 } }) else {
      throw AgreementError(.malformed, "the peer's key yields no shared secret")
    }
    opened = Opened(
      transcript: transcript, peer: peer.key, channel: SealedChannel(secret, transcript: transcript, as: role))
    return AgreementWords.of(transcript)
  }

  // MARK: Sealed messages

  /// Seals a message for the server to relay.
  ///
  /// - Throws: `outOfTurn` before the opening.
  public mutating func seal(_ message: AgreementMessage) throws(AgreementError) -> [UInt8] {
    guard var now = opened else { throw AgreementError(.outOfTurn, "messages must follow the opening") }
    defer { opened = now }
    return try now.channel.seal(message.bytes())
  }

  /// Opens the peer's next message.
  ///
  /// - Throws: `tampered` for a message that was modified, repeated, dropped, or sent by another party; `malformed`.
  public mutating func open(sealed: [UInt8]) throws(AgreementError) -> AgreementMessage {
    guard var now = opened else { throw AgreementError(.outOfTurn, "messages must follow the opening") }
    defer { opened = now }
    return try AgreementMessage(bytes: try now.channel.open(sealed))
  }

  // MARK: Sealing the record

  /// Signs a record that this device shows to its owner. The signature goes only to the server, which releases both
  /// signatures at once, in the receipts.
  ///
  /// - Throws: `outOfTurn` before the opening.
  public func sign(_ record: AgreementRecord) throws(AgreementError) -> [UInt8] {
    guard let opened else { throw AgreementError(.outOfTurn, "the record must follow the opening") }
    let signed = Self.signed(try record.hash, opened.transcript)
    do {
      return Array(try keys.signing.signature(for: signed))
    } catch {
      throw AgreementError(.malformed, "the record cannot be signed")
    }
  }

  /// The owner's copy of a record.
  ///
  /// - Throws: `outOfTurn` before the opening.
  public func copy(of record: AgreementRecord) throws(AgreementError) -> AgreementCopy {
    guard let opened else { throw AgreementError(.outOfTurn, "the record must follow the opening") }
    let (own, peer) = (keys.publicKey.bytes, opened.peer.bytes)
    return AgreementCopy(
      record: try record.bytes, transcript: opened.transcript, hostKey: role == .host ? own : peer,
      joinerKey: role == .host ? peer : own)
  }

  /// A 32-byte digest of both keys and both nonces; it is part of what both sign.
  public var transcript: [UInt8]? { opened?.transcript }

  static func signed(_ hash: [UInt8], _ transcript: [UInt8]) -> [UInt8] {
    Digest.of("fanmill agreement seal 1", transcript, hash)
  }
}
