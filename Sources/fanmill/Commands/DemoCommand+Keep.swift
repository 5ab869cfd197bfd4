import ArgumentParser
import DurableJobsCLI
import Foundation
import LocalStack
import Logging

extension DemoCommand {
  /// Fills the stack of this folder, and starts it first if none runs.
  func fill(_ logger: Logger) async throws {
    let output = common.output
    let folder = LocalStackFolder()
    let settings: [String: String]
    if folder.runner == nil {
      output.say("starting a stack in \(folder.path)")
      settings = try await UpCommand.start(folder, migrations: migrations.folder)
    } else {
      settings = folder.settings()
    }
    let progress = ProgressLine()
    let exhibition = Exhibition(
      settings: settings, accounts: accounts ?? Exhibition.sizes.upperBound, logger: logger)
    let report = try await interruptible {
      try await exhibition.fill { event in
        switch event {
        case .step(let what):
          progress.clear()
          output.say(what)
        case .progress(let done, let total, let what): progress.show(done, of: total, what)
        }
      }
    }
    progress.clear()
    try output.one(report) { $0.text }
    try Output.flush()
  }
}

extension ExhibitionReport {
  fileprivate var text: String {
    let made =
      isNew
      ? """
      \(accounts.grouped) accounts, \(posts.grouped) posts, \(pictures.grouped) pictures, \(comments.grouped) \
      comments, \(likes.grouped) likes, \(follows.grouped) follows, \(messages.grouped) messages, \(hearts.grouped) \
      hearts for \(channels.grouped) channels, in \(Int(seconds.rounded()).grouped) seconds.
      """ : "The demo was here already; nothing was added."
    return """

      \(made)

        Open      \(url)
        Email     \(email)
        Password  \(password)

      You are \(username), with \(unreadNotifications.grouped) new notifications and \(unreadMessages.grouped) unread \
      messages. The password is the same for all of the demo's accounts: sign in as minseo@example.org in a private \
      window to see both sides.
      The stack keeps running; `fanmill down` stops it.
      """
  }
}
