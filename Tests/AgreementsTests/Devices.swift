import Foundation

@testable import Agreements

/// Two devices and the words that they show their owners.
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

  /// Introduces two devices to each other through an honest server.
  ///
  /// - Returns: the words that each shows.
  static func introduce(_ host: inout Device, _ joiner: inout Device) throws -> (host: [String], joiner: [String]) {
    let (one, other) = (host.meeting.introduction, joiner.meeting.introduction)
    let hostOpening = try host.meeting.meet(publicKey: other.publicKey, commitment: other.commitment)
    let joinerOpening = try joiner.meeting.meet(publicKey: one.publicKey, commitment: one.commitment)
    return (try host.meeting.open(joinerOpening), try joiner.meeting.open(hostOpening))
  }

  /// One device's keys after the meeting, and the record that both signed.
  struct Sealed {
    let host: Device
    let joiner: Device
    let copy: AgreementCopy
    let hostSignature: [UInt8]
    let joinerSignature: [UInt8]
  }

  static func seal() throws -> Sealed {
    var (host, joiner) = (try Device(.host), try Device(.joiner))
    _ = try introduce(&host, &joiner)
    let record = try record(host, joiner)
    return Sealed(
      host: host, joiner: joiner, copy: try host.meeting.copy(of: record), hostSignature: try host.meeting.sign(record),
      joinerSignature: try joiner.meeting.sign(record))
  }
}

/// The code of the error that `body` throws; nil for none.
func code(_ body: () throws -> Void) throws -> AgreementError.Code? {
  do {
    try body()
    return nil
  } catch let error as AgreementError { return error.code }
}
