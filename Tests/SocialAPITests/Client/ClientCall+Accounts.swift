import Foundation

@testable import FanmillClient
@testable import SocialAPI

extension ClientCall {
  static let accounts: [ClientCall] = [
    .returning(.openAccount) {
      try await $0.accounts.open(
        Registration(
          username: "ann", email: "ann@example.org", password: "a password", name: "Ann", major: "Painting",
          bio: "I paint at dawn.", avatar: Sample.picture, adult: true))
    },
    .returning(.signIn) { try await $0.sessions.open(email: "ann@example.org", password: "a password") },
    .sending(.signOut) { try await $0.sessions.closeCurrent() },
    .sending(.requestPasswordReset) { try await $0.accounts.requestPasswordReset(email: "ann@example.org") },
    .sending(.resetPassword) { try await $0.accounts.resetPassword(token: Sample.token, to: "another word") },
    .sending(.requestConfirmation) { try await $0.accounts.requestEmailConfirmation(email: "ann@example.org") },
    .sending(.confirmEmail) { try await $0.accounts.confirmEmail(token: Sample.token) },
    .sending(.confirmDeletion) { try await $0.accounts.confirmDeletion(token: Sample.token) },
    .sending(.fetchExport) { _ = try await $0.accounts.export(token: Sample.token) },
  ]

  static let account: [ClientCall] = [
    .returning(.readAccount) { try await $0.me.profile() },
    .returning(.changeAccount) {
      try await $0.me.change(
        ProfileChanges(
          username: "ann", name: "Ann A.", major: "Painting", bio: "", avatar: .set(Sample.picture), adult: true))
    },
    .returning(.changeAccount) { try await $0.me.change(ProfileChanges(avatar: .remove)) },
    .sending(.deleteAccount) { _ = try await $0.me.delete(password: "a password") },
    .sending(.deleteAccount) { _ = try await $0.me.delete(password: nil) },
    .sending(.changePassword) { try await $0.me.changePassword(from: "a password", to: "another word") },
    .sending(.changeEmail) { try await $0.me.changeEmail(to: "ann@example.net", password: "a password") },
    .sending(.changeEmail) { try await $0.me.changeEmail(to: "ann@example.net", password: nil) },
    .returning(.listSessions) { ["items": try await $0.sessions.list()] },
    .sending(.endOtherSessions) { try await $0.sessions.closeOthers() },
    .sending(.endSession) { try await $0.sessions.close("0011aabbccdd2233") },
    .sending(.requestExport) { try await $0.me.requestExport() },
  ]

  static let people: [ClientCall] = [
    .returning(.searchUsers) { try await $0.users.search("bo", limit: 5).page(after: Sample.cursor) },
    .returning(.readUser) { try await $0.users.profile("bob") },
    .sending(.follow) { try await $0.users.follow("bob") },
    .sending(.unfollow) { try await $0.users.unfollow("bob") },
    .returning(.listFollowers) { try await $0.users.followers(of: "bob", limit: 5).page(after: Sample.cursor) },
    .returning(.listFollowing) { try await $0.users.following("bob", limit: 5).page(after: Sample.cursor) },
    .returning(.listUserPosts) { try await $0.users.posts(of: "bob", limit: 5).page(after: Sample.cursor) },
    .sending(.block) { try await $0.users.block("bob") },
    .sending(.unblock) { try await $0.users.unblock("bob") },
    .sending(.mute) { try await $0.users.mute("bob") },
    .sending(.unmute) { try await $0.users.unmute("bob") },
    .returning(.listBlocks) { try await $0.me.blocks(limit: 5).page(after: Sample.cursor) },
    .returning(.listMutes) { try await $0.me.mutes(limit: 5).page(after: Sample.cursor) },
    .returning(.listNotices) { try await $0.me.notices(limit: 5).page(after: Sample.cursor) },
    .returning(.report) { ["id": try await $0.reports.create(.post(42), reason: .spam, text: "Ten links.")] },
    .returning(.report) { ["id": try await $0.reports.create(.comment(43, on: 42), reason: .harassment)] },
    .returning(.report) { ["id": try await $0.reports.create(.user("bob"), reason: .impersonation)] },
    .returning(.report) { ["id": try await $0.reports.create(.message(42), reason: .selfHarm)] },
    .returning(.report) { ["id": try await $0.reports.create(.agreement(42), reason: .other)] },
  ]
}
