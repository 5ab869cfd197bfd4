import Crypto
import Foundation

/// One person's copy of an agreement: the record, and what proves that both signed it.
public struct AgreementCopy: Sendable, Hashable, Codable {
  /// As it was hashed.
  public let record: Data
  public let transcript: Data
  public let hostKey: Data
  public let joinerKey: Data
  public let hostSignature: Data
  public let joinerSignature: Data

  /// - Throws: `forged` where a signature is not that of its key.
  public init(
    record: AgreementRecord, transcript: [UInt8], hostKey: [UInt8], joinerKey: [UInt8], hostSignature: [UInt8],
    joinerSignature: [UInt8]
  ) throws(AgreementError) {
    self.record = Data(try record.bytes)
    self.transcript = Data(transcript)
    self.hostKey = Data(hostKey)
    self.joinerKey = Data(joinerKey)
    self.hostSignature = Data(hostSignature)
    self.joinerSignature = Data(joinerSignature)
    _ = try checked()
  }

  /// The record, once both signatures are checked.
  ///
  /// - Throws: `forged`, `malformed`.
  @discardableResult
  public func checked() throws(AgreementError) -> AgreementRecord {
    let record = try AgreementRecord(bytes: Array(record))
    let signed = AgreementMeeting.signed(try record.hash, Array(transcript))
    for (key, signature) in [(hostKey, hostSignature), (joinerKey, joinerSignature)] {
      guard try AgreementPublicKey(Array(key)).signing.isValidSignature(signature, for: signed) else {
        throw AgreementError(.forged, "a party has not signed this record")
      }
    }
    return record
  }

  // MARK: Sealed

  /// The copy as the server keeps it for its owner.
  ///
  /// - Parameter key: 32 random bytes of this copy's own, which stay with its owner.
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

  /// - Throws: `locked` for another key, or a copy that was changed; `forged`, `malformed`.
  public init(sealed: [UInt8], key: [UInt8]) throws(AgreementError) {
    let bytes: Data
    do {
      let box = try AES.GCM.SealedBox(combined: sealed)
      bytes = try AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: Self.label)
    } catch {
      throw AgreementError(.locked, "the copy was changed, or the key is another")
    }
    do { self = try JSONDecoder().decode(AgreementCopy.self, from: bytes) } catch {
      throw AgreementError(.malformed, "this is no copy of an agreement")
    }
    try checked()
  }

  private static let label = Array("fanmill agreement copy 1".utf8)
}
