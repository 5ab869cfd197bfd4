import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI
import Foundation
import LocalStack
import Logging
import SocialAdmin

/// The command behind `make demo` and, with `--keep`, `make fill`.
struct DemoCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Run the whole demo on its own servers; or fill this folder's stack with something to look at (--keep).",
    discussion: """
      Without --keep: servers, a real graph, posts, a kill -9, likes, rankings and an audit, all from scratch. Nothing \
      is left running.

      With --keep: a hundred accounts of an art school, with pictures that the demo draws, threads, likes, messages, \
      channels and rankings, made through the API of the stack that `fanmill up` runs in this folder; if none runs, \
      it is started. The command prints an address, and an account to sign in with. A stack that was filled before \
      stays as it is.
      """)

  @OptionGroup var common: CommonOptions
  @OptionGroup var migrations: MigrateCommand.MigrationsOption
  @Flag(help: "Fill the stack of this folder, and leave it running.") var keep = false
  @Option(help: "With --keep: the number of accounts, 10 to 100; all else grows with it.") var accounts: Int?
  @Option(help: "The file of accounts; by default, Debian's packages.") var users: String?
  @Option(help: "The file of follows; by default, the packages' dependencies.") var follows: String?

  func validate() throws {
    if keep, users != nil || follows != nil {
      throw ValidationError("--users and --follows are for the demo without --keep")
    }
    if !keep, accounts != nil { throw ValidationError("--accounts needs --keep") }
    if let accounts, !Exhibition.sizes.contains(accounts) {
      throw ValidationError(
        "--accounts is \(accounts): use a number from \(Exhibition.sizes.lowerBound) to \(Exhibition.sizes.upperBound)")
    }
  }

  func run() async throws {
    try await Program.run("fanmill", FanmillProgram.given, logLevel: common.verbose ? .debug : .critical) { program in
      do {
        if keep { return try await fill(program.logger) }
        let demo = Demo(
          migrations: try migrations.all(),
          users: try users ?? ProgramFiles.exampleData() + "/debian-users.tsv.gz",
          follows: try follows ?? ProgramFiles.exampleData() + "/debian-follows.tsv.gz", logger: program.logger)
        let report = try await interruptible { try await demo.run(event: show()) }
        try common.output.one(report) { $0.text }
        try Output.flush()
        if !report.isGood { throw ExitStatus.failure }
      } catch {
        guard let failure = FanmillProgram.failure(error) ?? CommandFailure(error) else { throw error }
        Output.complain(failure.line)
        throw failure.status
      }
    }
  }

  /// Prints events, with the seconds since the start.
  private func show() -> @Sendable (Demo.Event) -> Void {
    let start = ContinuousClock.now
    let progress = ProgressLine()
    let output = common.output
    return { event in
      let seconds = start.duration(to: .now) / .seconds(1)
      let time = seconds.formatted(.number.precision(.fractionLength(1)).locale(Locale(identifier: "en_US_POSIX")))
      switch event {
      case .importing(let now): progress.show(now)
      case .step(let what):
        progress.clear()
        output.say("[\(time) s] \(what)")
      case .line(let line):
        output.say("[\(time) s]   \(line.author): \(line.rows.grouped) rows in \(line.seconds.milliseconds)")
      }
    }
  }
}

extension DemoReport {
  var text: String {
    let table = Table(
      [
        .text("author"), .number("posts"), .number("followers"), .number("rows"), .number("to the last follower"),
        .number("rows/s"), .number("retries"), .text(""),
      ],
      rows: (lines.map { ($0, "") } + [killed].compactMap(\.self).map { ($0, "a worker killed and replaced") }).map {
        line, note in
        [
          line.author, line.posts.grouped, line.followers.grouped, line.rows.grouped, line.seconds.milliseconds,
          Int(line.rowsPerSecond).grouped, line.retries.grouped, note,
        ]
      })
    let audited =
      isExact
      ? "Audit: every feed is exact, \(feedRows.grouped) rows in all, none missing, none twice, none stale."
      : "Audit: NOT exact: \(missing.grouped) rows are missing and \(stale.grouped) are stale."
    let notified =
      areNotificationsExact
      ? "Every notification matches the likes, comments and follows."
      : "Notifications do NOT match the likes, comments and follows."
    let ranked =
      areRankingsExact
      ? "Every ranking matches the hearts." : "Rankings do NOT match the hearts and registrations."
    let shown =
      arePicturesExact ? "Every picture has its files." : "Pictures do NOT match their owners and posts."
    let verdict = "\(audited) \(notified) \(ranked) \(shown)"
    let jobs =
      pending + dead == 0
      ? "Every enqueued job is done."
      : "\(pending.grouped) jobs are still pending and \(dead.grouped) are dead."
    return """

      \(table.text(width: nil))

      \(reactions?.text ?? "")
      \(fans?.text ?? "")
      \(pictures?.text ?? "")
      \(verdict)
      \(jobs)
      A killed worker's jobs wait until its lease ends, at most 5 seconds; then another worker gets them.

      Nothing is left running. To explore: `make up` leaves a stack running in this folder,
      `\(CommandLine.arguments[0]) --help` lists the commands, and README.md explains how it works.
      """
  }
}

extension DemoReport.Reactions {
  fileprivate var text: String {
    """
    \(likes.grouped) likes, \(comments.grouped) comments and \(follows.grouped) follows of \(author): notified \
    \(secondsUntilNotified.milliseconds) after the last; \(unread.grouped) unread, \(unreadAfter.grouped) once \
    \(takenBack.grouped) had withdrawn their like.
    \(items.map { "  · " + $0 }.joined(separator: "\n"))

    """
  }
}

extension DemoReport.Fans {
  fileprivate var text: String {
    let ranking = Table(
      [.number("rank"), .text("channel"), .number("hearts"), .number("fans"), .text("before")],
      rows: second.map { line in
        [line.rank.grouped, line.title, line.hearts.grouped, line.fans.grouped, line.movement]
      })
    return """
      \(questions.grouped) fans looked up their channels with \(lookups.grouped) lookups, found after \
      \(secondsToFind.milliseconds), and gave \(hearts.grouped) hearts. The day's ranking, recomputed after the last \
      of them:
      \(ranking.text(width: nil))
      \(card.map { "A fan's certificate was signed, checked and drawn: a card of \($0.grouped) bytes." }
        ?? "A fan's certificate was signed and checked.")

      """
  }
}

extension DemoReport.Pictures {
  fileprivate var text: String {
    """
    \(count.grouped) pictures in \(posts.grouped) posts, uploaded in \(secondsUploaded.milliseconds); the last of \
    their sizes was ready \(secondsUntilMade.milliseconds) later, \(bytes.grouped) bytes in all.

    """
  }
}

extension DemoReport.Ranked {
  /// The previous rank, and the direction of the change.
  fileprivate var movement: String {
    guard let previousRank else { return "new" }
    return previousRank == rank ? "same" : "\(previousRank) \(rank < previousRank ? "↑" : "↓")"
  }
}

extension Double {
  /// Seconds as milliseconds.
  fileprivate var milliseconds: String { "\(Int((self * 1000).rounded()).grouped) ms" }
}
