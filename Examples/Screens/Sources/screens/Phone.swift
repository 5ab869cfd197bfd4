import Agreements
import FanmillClient
import Foundation

/// A phone in a meeting: the protocol of the module Agreements, over the routes of FanmillClient.
struct Phone: Sendable {
  let person: Person
  let device: String
  private(set) var meeting: AgreementMeeting
  private(set) var id: Meeting.ID = 0
  private var sent = 0
  private var received = 0
  /// The key to this phone's copy. It stays on the phone, and in the backup.
  let copyKey: [UInt8]

  init(_ person: Person, _ device: String, as role: AgreementRole) {
    self.person = person
    self.device = device
    meeting = AgreementMeeting(as: role)
    copyKey = Self.random(32)
  }

  static func random(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }

  var party: AgreementRecord.Party { AgreementRecord.Party(username: person.username, device: device) }

  // MARK: Meeting

  /// - Returns: the code to show.
  mutating func begin() async throws -> String {
    let (key, commitment) = meeting.introduction
    let begun = try await person.client.meetings.begin(publicKey: Data(key), commitment: Data(commitment))
    id = begun.id
    return begun.code
  }

  mutating func join(_ host: Person, code: String) async throws {
    let (key, commitment) = meeting.introduction
    id = try await person.client.meetings.join(
      host: host.username, code: code, publicKey: Data(key), commitment: Data(commitment)
    ).id
  }

  private func peer() async throws -> Meeting.Peer {
    guard let peer = try await person.client.meetings.meeting(id).peer else {
      throw Walk.Late(description: "the other phone has not joined")
    }
    return peer
  }

  /// Opens the commitment, once the other phone's has arrived.
  mutating func open() async throws {
    let peer = try await peer()
    let nonce = try meeting.meet(publicKey: Array(peer.publicKey), commitment: Array(peer.commitment))
    try await person.client.meetings.open(id, nonce: Data(nonce))
  }

  /// - Returns: the four words to compare.
  mutating func words() async throws -> [String] {
    guard let nonce = try await peer().nonce else { throw Walk.Late(description: "the other phone has not opened") }
    return try meeting.open(Array(nonce))
  }

  // MARK: Messages

  mutating func send(_ message: AgreementMessage) async throws {
    sent += 1
    try await person.client.meetings.send(Data(try meeting.seal(message)), number: sent, in: id)
  }

  /// The other phone's next message.
  mutating func receive() async throws -> AgreementMessage {
    guard let message = try await person.client.meetings.messages(in: id, after: received).first else {
      throw Walk.Late(description: "the other phone has sent nothing")
    }
    received = message.number
    return try meeting.open(sealed: Array(message.body))
  }

  // MARK: Sealing

  func seal(_ record: AgreementRecord) async throws -> Meeting {
    try await person.client.meetings.seal(
      MeetingSeal(
        hash: Data(try record.hash), signature: Data(try meeting.sign(record)),
        copy: Data(try meeting.copy(of: record).seal(with: copyKey)),
        expiresAt: Date(timeIntervalSince1970: TimeInterval(record.expiresAt))), in: id)
  }

  /// The copy and its receipt, both verified on the phone.
  func agreement() async throws -> (shown: Agreement, record: AgreementRecord, receipt: AgreementReceipt) {
    try await Self.agreement(id, of: person, key: copyKey)
  }

  static func agreement(
    _ id: Agreement.ID, of person: Person, key: [UInt8]
  ) async throws -> (shown: Agreement, record: AgreementRecord, receipt: AgreementReceipt) {
    let agreement = try await person.client.agreements.agreement(id)
    let copy = try AgreementCopy(sealed: Array(agreement.copy), key: key)
    let keys = try await person.client.certificates.keys().map { ($0.id, Array($0.bytes)) }
    let receipt = try AgreementReceipt(
      agreement.receipt, keys: Dictionary(keys) { first, _ in first }, of: copy)
    return (agreement, try copy.record, receipt)
  }
}
