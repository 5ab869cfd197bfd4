import Crypto
import Foundation

/// AES-256-GCM in both directions, each with a separate key and increasing message numbers.
struct SealedChannel: Sendable {
  private let outgoing: SymmetricKey
  private let incoming: SymmetricKey
  private let transcript: [UInt8]
  private var sent: UInt64 = 0
  private var received: UInt64 = 0

  init(_ secret: SharedSecret, transcript: [UInt8], as role: AgreementRole) {
    func key(from sender: AgreementRole) -> SymmetricKey {
      let info = sender == .host ? "fanmill agreement host to joiner 1" : "fanmill agreement joiner to host 1"
      return secret.hkdfDerivedSymmetricKey(
        using: SHA256.self, salt: transcript, sharedInfo: Array(info.utf8), outputByteCount: 32)
    }
    outgoing = key(from: role)
    incoming = key(from: role.peer)
    self.transcript = transcript
  }

  /// The ciphertext and the tag; both sides know the message's number.
  mutating func seal(_ bytes: [UInt8]) throws(AgreementError) -> [UInt8] {
    sent += 1
    do {
      let box = try AES.GCM.seal(bytes, using: outgoing, nonce: try Self.nonce(sent), authenticating: transcript)
      return Array(box.ciphertext) + Array(box.tag)
    } catch {
      throw AgreementError(.malformed, "the message cannot be sealed")
    }
  }

  /// - Throws: `tampered`; the next message in order can still be opened.
  mutating func open(_ sealed: [UInt8]) throws(AgreementError) -> [UInt8] {
    guard sealed.count >= 16 else { throw AgreementError(.tampered, "a message is too short") }
    do {
      let box = try AES.GCM.SealedBox(
        nonce: try Self.nonce(received + 1), ciphertext: sealed.dropLast(16), tag: sealed.suffix(16))
      let bytes = Array(try AES.GCM.open(box, using: incoming, authenticating: transcript))
      received += 1
      return bytes
    } catch {
      throw AgreementError(.tampered, "a message was changed, repeated or dropped")
    }
  }

  private static func nonce(_ number: UInt64) throws -> AES.GCM.Nonce {
    try AES.GCM.Nonce(data: [0, 0, 0, 0] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) })
  }
}
