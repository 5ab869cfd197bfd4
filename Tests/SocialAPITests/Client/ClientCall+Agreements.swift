import Foundation

@testable import FanmillClient
@testable import SocialAPI

extension ClientCall {
  static let meetings: [ClientCall] = [
    .returning(.beginMeeting) {
      try await $0.meetings.begin(publicKey: Data(count: 64), commitment: Data(count: 32))
    },
    .returning(.joinMeeting) {
      try await $0.meetings.join(
        host: "bob", code: "042137", publicKey: Data(count: 64), commitment: Data(count: 32))
    },
    .returning(.readMeeting) { try await $0.meetings.meeting(42) },
    .sending(.leaveMeeting) { try await $0.meetings.leave(42) },
    .sending(.openCommitment) { try await $0.meetings.open(42, nonce: Data(count: 32)) },
    .returning(.listSealedMessages) { ["items": try await $0.meetings.messages(in: 42, after: 1)] },
    .sending(.sendSealedMessage) { try await $0.meetings.send(Data(count: 16), number: 1, in: 42) },
    .returning(.sealRecord) {
      try await $0.meetings.seal(
        MeetingSeal(
          hash: Data(count: 32), signature: Data(count: 64), copy: Data(count: 28),
          expiresAt: Date(timeIntervalSince1970: 1_800_000_000)),
        in: 42)
    },
  ]

  static let agreements: [ClientCall] = [
    .returning(.listAgreements) { try await $0.agreements.list(limit: 5).page(after: Sample.cursor) },
    .returning(.listTemplates) { ["items": try await $0.agreements.templates(language: "ko")] },
    .returning(.readAgreement) { try await $0.agreements.agreement(42) },
    .sending(.deleteAgreement) { try await $0.agreements.delete(42) },
    .returning(.withdraw) { ["withdrawnAt": try await $0.agreements.withdraw(42)] },
    .returning(.readBackup) { try await $0.agreements.backup.summary() },
    .sending(.keepBackup) {
      try await $0.agreements.backup.store(
        AgreementBackup(
          salt: Data(count: 16), proof: Data(count: 32), secret: Data(count: 32), locked: Data(count: 28)))
    },
    .sending(.deleteBackup) { try await $0.agreements.backup.delete() },
    .returning(.openBackup) { client in
      let opened = try await client.agreements.backup.open(proof: Data(count: 32))
      return ["locked": opened.locked, "secret": opened.secret]
    },
  ]
}
