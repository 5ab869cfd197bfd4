import Foundation

@testable import Agreements

/// Two devices and what they show their owners.
struct Device {
  var meeting: AgreementMeeting
  let party: AgreementRecord.Party
  let place: AgreementPlace

  init(_ role: AgreementRole, place: AgreementPlace? = nil) throws {
    meeting = AgreementMeeting(as: role)
    party = AgreementRecord.Party(
      username: role == .host ? "ann" : "bob", device: role == .host ? "Ann's phone" : "Bob's phone")
    self.place = try place ?? AgreementPlace(latitude: 37.5665, longitude: 126.978, accuracy: 8)
  }
}

enum Agreed {
  static let text = "We agree to draw each other's portrait."
  static let date = Date(timeIntervalSince1970: 1_790_000_000)
  static let end = date + 86_400

  static func record(_ host: Device, _ joiner: Device, text: String = Agreed.text) throws -> AgreementRecord {
    try AgreementRecord(
      text: text, time: date, expiresAt: end, place: host.place, host: host.party, joiner: joiner.party)
  }

  /// Lets two devices meet, by an honest server.
  ///
  /// - Returns: the words that each shows.
  static func introduce(_ host: inout Device, _ joiner: inout Device) throws -> (host: [String], joiner: [String]) {
    let (one, other) = (host.meeting.introduction, joiner.meeting.introduction)
    let hostOpening = try host.meeting.meet(publicKey: other.publicKey, commitment: other.commitment)
    let joinerOpening = try joiner.meeting.meet(publicKey: one.publicKey, commitment: one.commitment)
    return (try host.meeting.open(joinerOpening), try joiner.meeting.open(hostOpening))
  }

  /// Two devices that have met, and their copies of what both signed.
  static func seal() throws -> (host: Device, joiner: Device, copy: AgreementCopy) {
    var (host, joiner) = (try Device(.host), try Device(.joiner))
    _ = try introduce(&host, &joiner)
    let record = try record(host, joiner)
    let (one, other) = (try host.meeting.sign(record), try joiner.meeting.sign(record))
    let copy = try AgreementCopy(
      record: record, transcript: host.meeting.transcript ?? [], hostKey: host.meeting.introduction.publicKey,
      joinerKey: joiner.meeting.introduction.publicKey, hostSignature: one, joinerSignature: other)
    return (host, joiner, copy)
  }
}

/// The code of what is thrown; nil for nothing.
func code(_ body: () throws -> Void) throws -> AgreementError.Code? {
  do {
    try body()
    return nil
  } catch let error as AgreementError { return error.code }
}
