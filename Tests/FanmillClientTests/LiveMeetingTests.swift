import Foundation
import Testing

@testable import FanmillClient

/// Meetings, agreements and backups, against the stack at `FANMILL_TEST_URL`.
@Suite(.enabled(if: LiveStack.url != nil), .timeLimit(.minutes(5))) struct LiveMeetingTests {
  @Test func meetingsAndBackups() async throws {
    let (ann, annName) = try await LiveStack.account("ann", adult: true)
    let (bob, _) = try await LiveStack.account("bob", adult: true)
    #expect(try await ann.agreements.templates().isEmpty == false)
    #expect(try await ann.agreements.templates(language: "ko").first?.language == "ko")
    let (minor, _) = try await LiveStack.account("cyd")
    // Points of the curve; the protocol itself is tested with the module Agreements.
    let keys = [
      "B6N8vBQgk8i3VdwbEOhstCY3StFqqFPtC9_AsrhtHHzn8WKhC-xVmv6hleTc6EtpVo1dLLCWPrRGwGheKxfy8A",
      "JE_juWPomd0pW6_84kjTUw86mnR5ugYwAmgOv-etrUkCC9QnRGtyNCTYDSytNSuj3zZJ0O-PquDKfrJUQ5QbKQ",
    ].compactMap { Base64URL.data($0) }
    let commitments = [
      "vRLruqA6ljeCadIkuLm1nWMuFP92H7JbjWSpmVx9DIE", "HgP3LrwCDpCmaZXhTp9WrWI_Ba0wsneZTvGTmoE6Vsg",
    ].compactMap { Base64URL.data($0) }
    let nonces = [Data((65...96).map { UInt8($0) }), Data((161...192).map { UInt8($0) })]
    let refused = await #expect(throws: FanmillError.self) {
      _ = try await minor.meetings.begin(publicKey: keys[0], commitment: commitments[0])
    }
    #expect(refused?.code == .adultStatementNeeded)
    let begun = try await ann.meetings.begin(publicKey: keys[0], commitment: commitments[0])
    #expect(begun.code.count == 6)
    let wrong = await #expect(throws: FanmillError.self) {
      _ = try await bob.meetings.join(
        host: annName, code: begun.code == "000000" ? "000001" : "000000", publicKey: keys[1],
        commitment: commitments[1])
    }
    #expect(wrong?.code == .wrongCode)
    let joined = try await bob.meetings.join(
      host: annName, code: begun.code, publicKey: keys[1], commitment: commitments[1])
    #expect(joined.state == .joined && joined.role == .joiner && joined.peer?.publicKey == keys[0])
    try await ann.meetings.open(begun.id, nonce: nonces[0])
    try await bob.meetings.open(begun.id, nonce: nonces[1])
    #expect(try await ann.meetings.meeting(begun.id).peer?.nonce == nonces[1])
    try await ann.meetings.send(Data(count: 40), number: 1, in: begun.id)
    try await ann.meetings.send(Data(count: 40), number: 1, in: begun.id)
    #expect(try await bob.meetings.messages(in: begun.id) == [SealedMessage(number: 1, body: Data(count: 40))])
    #expect(try await bob.meetings.messages(in: begun.id, after: 1).isEmpty)
    let forged = await #expect(throws: FanmillError.self) {
      try await ann.meetings.seal(
        MeetingSeal(
          hash: Data(count: 32), signature: Data(count: 64), copy: Data(count: 64),
          expiresAt: Date.now.addingTimeInterval(86_400)), in: begun.id)
    }
    #expect(forged?.code == .forgedSeal)
    try await bob.meetings.leave(begun.id)
    let left = try await ann.meetings.meeting(begun.id)
    #expect(left.state == .ended && left.ending == .left)
    #expect(try await ann.agreements.list().page().items.isEmpty)
    let absent = await #expect(throws: FanmillError.self) { try await ann.agreements.withdraw(begun.id) }
    #expect(absent?.code == .notFound)

    let backup = AgreementBackup(
      salt: Data(count: 16), proof: Data(repeating: 1, count: 32), secret: Data(repeating: 2, count: 32),
      locked: Data(repeating: 3, count: 64))
    try await ann.agreements.backup.store(backup)
    #expect(try await ann.agreements.backup.summary().triesLeft == 10)
    let passcode = await #expect(throws: FanmillError.self) {
      _ = try await ann.agreements.backup.open(proof: Data(count: 32))
    }
    #expect(passcode?.code == .wrongPasscode)
    let opened = try await ann.agreements.backup.open(proof: backup.proof)
    #expect(opened.secret == backup.secret && opened.locked == backup.locked)
    try await ann.agreements.backup.delete()
  }
}
