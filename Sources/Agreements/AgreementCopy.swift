import Crypto
import Foundation

/// One person's copy of an agreement: the record, and the data needed to verify its signatures. The signatures are in
/// the receipt, and a copy without a receipt is not an agreement.
public struct AgreementCopy: Sendable, Hashable, Codable {
  /// The exact bytes that were hashed.
  public let bytes: Data
  public let transcript: Data
  public let hostKey: Data
  public let joinerKey: Data

  private enum CodingKeys: String, CodingKey {
    case bytes = "record"
    case transcript, hostKey, joinerKey
  }

  init(record: [UInt8], transcript: [UInt8], hostKey: [UInt8], joinerKey: [UInt8]) {
    bytes = Data(record)
    self.transcript = Data(transcript)
    self.hostKey = Data(hostKey)
    self.joinerKey = Data(joinerKey)
  }

  /// - Throws: `malformed`.
  public var record: AgreementRecord {
    get throws(AgreementError) { try AgreementRecord(bytes: Array(bytes)) }
  }

  /// Verifies both devices' signatures of the record.
  ///
  /// - Throws: `forged`, `malformed`.
  func check(hostSignature: [UInt8], joinerSignature: [UInt8]) throws(AgreementError) {
    let signed = AgreementMeeting.signed(try record.hash, Array(transcript))
    for (key, signature) in [(hostKey, hostSignature), (joinerKey, joinerSignature)] {
      guard try AgreementPublicKey(Array(key)).signing.isValidSignature(signature, for: signed) else {
        throw AgreementError(.forged, "a party has not signed this record")
      }
    }
  }

  // MARK: Sealed

  /// The copy as the server stores it for its owner.
  ///
  /// - Parameter key: 32 random bytes for this copy only, which stay with its owner.
  public func seal(with key: [UInt8]) throws(AgreementError) -> [UInt8] {
    do {
      let bytes = try JSONEncoder().encode(self)
      guard let sealed = try AES.GCM.seal(bytes, using: SymmetricKey(data: key), authenticating: Self.label).combined
      else { throw AgreementError(.malformed, "the copy cannot be sealed") }
      return Array(sealed)
    } catch {
      throw AgreementError(.malformed, "the copy cannot be sealed")
    }
  }

  /// - Throws: `locked` for a wrong key or a modified copy; `malformed`.
  public init(sealed: [UInt8], key: [UInt8]) throws(AgreementError) {
    let bytes: Data
    do {
      let box = try AES.GCM.SealedBox(combined: sealed)
      bytes = try AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: Self.label)
    } catch {
      throw AgreementError(.locked, "the copy was changed, or this is the wrong key")
    }
    do { self = try JSONDecoder().decode(AgreementCopy.self, from: bytes) } catch {
      throw AgreementError(.malformed, "this is not a copy of an agreement")
    }
    _ = try record
  }

  private static let label = Array("fanmill agreement copy 1".utf8)
}
