import DurableJobsAdmin
import Foundation
import Glibc
import DurableJobsPostgres
import LibPQClient
import Logging
import Migrations
import PrivateServers
import Social

/// The demo from nothing: private servers, a real follower graph, the API and two worker processes, posts by accounts
/// of several sizes, a worker killed mid-job, likes, comments and follows that notify authors, channels that fans look
/// up and give hearts, rankings, and a complete audit. It leaves nothing behind.
public struct Demo: Sendable {
  /// A step to report to the viewer.
  public enum Event: Sendable {
    case step(String)
    case importing(GraphImport.Progress)
    case line(DemoReport.Line)
  }

  private let migrations: [Migration]
  private let users: String
  private let follows: String
  private let logger: Logger

  /// The number of posts the largest author makes while a worker is killed.
  private static let burst = 10
  /// The approximate follower counts of the first posts' authors; the largest account comes last.
  private static let sizes = [1, 10, 100, 1000, 5000, 10_000, .max]

  /// - Parameters:
  ///   - users: the file of accounts.
  ///   - follows: the file of follows.
  public init(migrations: [Migration], users: String, follows: String, logger: Logger) {
    self.migrations = migrations
    self.users = users
    self.follows = follows
    self.logger = logger
  }

  /// Runs the demo from nothing.
  ///
  /// - Parameter event: receives each step as it begins.
  public func run(event: @escaping @Sendable (Event) -> Void) async throws -> DemoReport {
    let folder = try TemporaryFolder()
    event(.step("starting a private Postgres and a private Redis"))
    let servers = try await LocalServers.start(in: nil)
    let result: Result<DemoReport, any Error>
    do {
      result = .success(try await servers.withPool(logger: logger) { try await run(servers, $0, folder.path, event) })
    } catch {
      result = .failure(error)
    }
    await servers.stop()
    return try result.get()
  }

  private func run(
    _ servers: LocalServers, _ pool: PostgresPool, _ folder: String, _ event: @escaping @Sendable (Event) -> Void
  ) async throws -> DemoReport {
    try await DatabaseMigrator(migrations, pool: pool).up()
    let imported = try await GraphImport(users: users, follows: follows).run(on: pool) { event(.importing($0)) }
    event(.step("imported \(imported.accountsAdded) accounts and \(imported.followsAdded) follows"))
    event(.step("starting a stand-in for YouTube, the API and two workers"))
    let stage = try await DemoStage.set(servers, pool, folder: folder)
    let result: Result<DemoReport, any Error>
    do {
      result = .success(try await play(on: stage, pool, event))
    } catch {
      result = .failure(error)
    }
    await stage.strike()
    return try result.get()
  }

  private func play(
    on stage: DemoStage, _ pool: PostgresPool, _ event: @escaping @Sendable (Event) -> Void
  ) async throws -> DemoReport {
    var report = DemoReport()
    let authors = try await DemoAuthor.choose(Self.sizes, on: pool)
    event(.step("posting through the API, one author after the other"))
    for author in authors {
      let post = try await stage.post(by: author)
      let line = try await DemoFanOut(author: author, posts: [post]).line(on: pool, retries: 0)
      report.lines.append(line)
      event(.line(line))
    }
    if let largest = authors.last {
      event(.step("posting \(Self.burst) times as \(largest.username); in the middle one worker is killed with -9"))
      var posts: [DemoPost] = []
      for _ in 0..<Self.burst { posts.append(try await stage.post(by: largest)) }
      let fanOut = DemoFanOut(author: largest, posts: posts)
      try await fanOut.waitUntilUnderWay(on: pool)
      let delivered = try await fanOut.delivered(on: pool)
      await stage.killWorker()
      let all = largest.followers * Self.burst
      event(.step("killed worker-2 with \(delivered) of \(all) rows delivered; replacing it"))
      try await stage.replaceWorker()
      try await fanOut.waitUntilDone(on: pool)
      let line = try await fanOut.line(on: pool, retries: try await stage.repeats())
      report.killed = line
      event(.line(line))
    }
    if let largest = authors.last {
      event(.step("readers like, comment and follow; \(largest.username) is notified"))
      let reactions = DemoReactions(author: largest, post: try await stage.post(by: largest))
      report.reactions = try await reactions.play(on: stage, pool)
    }
    event(.step("fans look up channels, register them and give hearts; rankings are computed twice"))
    report.fans = try await DemoFans().play(on: stage, pool)
    if PictureWorkshop.isAvailable {
      event(.step("drawing \(DemoPictures.count) pictures; accounts post them and use them as avatars"))
      report.pictures = try await DemoPictures().play(on: stage, pool)
    } else {
      event(.step("no pictures: this machine has no vips, which `make setup` installs"))
    }
    event(.step("auditing every feed, every notification, every ranking and every picture"))
    try await stage.waitUntilNothingIsPending()
    let database = JobsDatabase(pool: pool)
    report.areNotificationsExact = try await NotificationAudit.run(on: database).isExact
    report.areRankingsExact = try await RankingAudit.run(on: database).isExact
    report.arePicturesExact = try await MediaAudit.run(MediaFolder(path: stage.mediaFolder), on: pool).isExact
    let audit = try await FeedAudit.run(on: pool)
    (report.isExact, report.feedRows) = (audit.isExact, audit.found)
    (report.missing, report.stale) = (audit.missing, audit.stale)
    (report.pending, report.dead) = (try await database.pendingCount(), try await database.deadCount())
    return report
  }
}

/// A folder under /tmp that is removed with this value.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws(OperationError) {
    var template = Array("/tmp/fanmill-demo-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw OperationError(.failed, "cannot create a folder under /tmp: \(String(cString: strerror(errno)))")
    }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    // Leftover logs of a finished demo do no harm.
    do { try FileManager.default.removeItem(atPath: path) } catch {}
  }
}
