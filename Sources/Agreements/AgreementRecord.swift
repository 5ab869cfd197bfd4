import Foundation

/// The terms of an agreement, as both people see them.
public struct AgreementRecord: Sendable, Hashable, Codable {
  /// A person and a device.
  public struct Party: Sendable, Hashable, Codable {
    public let username: String
    public let device: String

    public init(username: String, device: String) {
      self.username = username
      self.device = device
    }
  }

  public let version: Int
  /// The full text, because templates change.
  public let text: String
  /// The time of the agreement, in seconds since 1970.
  public let time: Int
  /// When the agreement ends, in seconds since 1970.
  public let expiresAt: Int
  /// The host's location: both are within 100 metres.
  public let place: AgreementPlace
  public let host: Party
  public let joiner: Party
  /// 32 random bytes from the host, in Base64 for URLs. Without them, a hash of the record reveals nothing, and guesses
  /// at its place or text cannot be tested.
  public let salt: String

  /// - Parameters:
  ///   - expiresAt: nil for a day later.
  ///   - salt: nil for a new one.
  /// - Throws: `malformed` for a text of more than 10,000 characters, an end before the start, or an empty name.
  public init(
    text: String, time: Date, expiresAt: Date? = nil, place: AgreementPlace, host: Party, joiner: Party,
    salt: [UInt8]? = nil
  ) throws(AgreementError) {
    var generator = SystemRandomNumberGenerator()
    version = 1
    self.text = text
    self.time = Int(time.timeIntervalSince1970)
    self.expiresAt = expiresAt.map { Int($0.timeIntervalSince1970) } ?? self.time + 86_400
    self.place = place
    self.host = host
    self.joiner = joiner
    self.salt = Base64URL.text(salt ?? (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    try check()
  }

  private func check() throws(AgreementError) {
    try place.check()
    let names = [host, joiner].flatMap { [$0.username, $0.device] }
    guard version == 1, (1...10_000).contains(text.unicodeScalars.count), time > 0, expiresAt > time,
      expiresAt <= time + 366 * 86_400, Base64URL.bytes(salt)?.count == 32,
      names.allSatisfy({ (1...200).contains($0.unicodeScalars.count) }), host.username != joiner.username
    else {
      throw AgreementError(
        .malformed, "a record needs a text, a time and an end within a year, a place, and two parties")
    }
  }

  /// The canonical form for hashing and sealing: JSON with sorted keys.
  public var bytes: [UInt8] {
    get throws(AgreementError) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      do { return Array(try encoder.encode(self)) } catch {
        throw AgreementError(.malformed, "the record cannot be written")
      }
    }
  }

  /// Decodes a record from its host.
  ///
  /// - Throws: `malformed` for any non-canonical form, so that the hashed bytes match the displayed record.
  public init(bytes: [UInt8]) throws(AgreementError) {
    let malformed = AgreementError(.malformed, "this is not a record of an agreement")
    do { self = try JSONDecoder().decode(AgreementRecord.self, from: Data(bytes)) } catch { throw malformed }
    try check()
    guard try self.bytes == bytes else { throw malformed }
  }

  /// 32 bytes.
  public var hash: [UInt8] {
    get throws(AgreementError) { Digest.of("fanmill agreement record 1", try bytes) }
  }

  /// Checks the peer's record against this device's.
  ///
  /// - Parameters:
  ///   - text: the text that the owner chose or read.
  ///   - place: this device's location.
  ///   - now: this device's time; the clocks of two phones differ only a little.
  /// - Throws: `differs`, `tooFar`.
  public func check(
    text: String, place: AgreementPlace, host: Party, joiner: Party, expiresAt: Date, now: Date
  ) throws(AgreementError) {
    guard self.text == text, self.host == host, self.joiner == joiner,
      self.expiresAt == Int(expiresAt.timeIntervalSince1970)
    else {
      throw AgreementError(.differs, "the peer's record differs from the one shown on this device")
    }
    guard abs(Double(time) - now.timeIntervalSince1970) <= 300 else {
      throw AgreementError(.differs, "the peer's clock is more than five minutes off")
    }
    try self.place.checkNearness(to: place)
  }
}
