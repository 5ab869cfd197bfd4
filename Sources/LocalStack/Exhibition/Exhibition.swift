import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import HTTPTypes
import LibPQClient
import Logging
import Social

/// Fills a running local stack with the life of a small art school, for the web client to show, and leaves it there:
/// accounts, pictures, threads, likes, messages, channels with their fans and rankings.
///
/// Everything but opening the accounts goes through the API. An interrupted run can be repeated within 23 hours: its
/// requests have keys and take effect once. A complete run is noted in the action log, and is not repeated.
public struct Exhibition: Sendable {
  /// A step to report to the viewer.
  public enum Event: Sendable {
    case step(String)
    /// How many of how many are done, and of what.
    case progress(Int, of: Int, String)
  }

  /// The password of all accounts.
  public static let password = "lookaround"
  /// How many accounts a stack can be filled with.
  public static let sizes = 10...100

  private static let action = "demo.keep"
  private static let subject = "demo"

  private let settings: [String: String]
  private let accounts: Int
  private let logger: Logger

  /// - Parameters:
  ///   - settings: the running stack's, from its folder.
  ///   - accounts: how many; one of `sizes`. Everything else grows with it.
  public init(settings: [String: String], accounts: Int = 100, logger: Logger) {
    self.settings = settings
    self.accounts = accounts
    self.logger = logger
  }

  /// Fills the stack, unless it was filled before.
  ///
  /// - Throws: `.failed` for an unexpected answer; `.conflict` if somebody else has a name or an address that
  ///   the demo uses, or if a run was interrupted too long ago to be repeated.
  public func fill(event: @escaping @Sendable (Event) -> Void) async throws -> ExhibitionReport {
    guard let url = settings["FANMILL_POSTGRES_URL"], let port = settings["FANMILL_API_PORT"].flatMap({ Int($0) })
    else {
      throw OperationError(
        .failed,
        "the stack's settings lack Postgres or the API: restart it with `fanmill down` and `fanmill up --detach`")
    }
    return try await LocalServers.withPool(url: url, logger: logger) { pool in
      try await ExhibitionAPI.with(port: port, logger: logger) { api in
        let start = ContinuousClock.now
        let log = ActionLog(JobsDatabase(pool: pool))
        let filled = try await log.page(subject: Self.subject, limit: 1).items.first { $0.action == Self.action }
        let plan = ExhibitionPlan(accounts: filled?.detail["accounts"].flatMap { Int($0) } ?? accounts)
        if filled == nil { try await fill(plan, api, pool, event) }
        return try await report(plan, isNew: filled == nil, since: start, api)
      }
    }
  }

  private func fill(
    _ plan: ExhibitionPlan, _ api: ExhibitionAPI, _ pool: PostgresPool, _ event: @escaping @Sendable (Event) -> Void
  ) async throws {
    let database = JobsDatabase(pool: pool)
    let pending = try await database.pendingCount()
    event(.step("opening \(plan.students.count) accounts"))
    let cast = try await ExhibitionCast.enter(plan.students, pool)

    var media = plan.posts.map { _ in [String]() }
    if PictureWorkshop.isAvailable {
      let pictures = ExhibitionPictures(plan: plan, cast: cast, api: api)
      let count = pictures.count
      event(.step("drawing and uploading \(count) pictures"))
      media = try await pictures.upload { event(.progress($0, of: count, "pictures")) }
    } else {
      event(.step("no pictures: this machine has no vips, which `make setup` installs"))
    }

    event(.step("posting, following, liking, commenting, writing messages"))
    let steps = plan.steps.count
    let posts = try await ExhibitionPlay(plan: plan, cast: cast, api: api).run(media: media) {
      event(.progress($0, of: steps, "posts and what they set off"))
    }

    let fans = ExhibitionFans(plan: plan, cast: cast, api: api)
    if LocalStack.isStandIn(settings) {
      event(.step("registering channels and giving hearts; rankings are computed twice"))
      let channels = try await fans.register()
      for round in 0...1 {
        try await fans.give(round: round, to: channels)
        // The hearts' own jobs must finish first, or the ranking would count fewer.
        try await waitForJobs(database, beyond: pending, event)
        _ = try await pool.transaction { try await RankingRefresh().run(in: $0) }
      }
    } else {
      event(.step("no channels: the stack asks the real YouTube, which does not know the demo's"))
      try await waitForJobs(database, beyond: pending, event)
    }

    event(.step("spreading it over two weeks"))
    let now = Date()
    let times = ExhibitionTimes(
      accounts: cast.ids, posts: posts, planned: plan.posts.map { now.addingTimeInterval(-$0.age * 86_400) })
    try await pool.transaction { transaction in
      try await times.spread(in: transaction)
      try await ActionLog(database).record(
        Self.action, Self.subject, detail: ["accounts": String(plan.students.count)], by: .terminal, in: transaction)
    }
    try await cast.leave(api)
  }

  /// Waits until the jobs of the run are done: sizes of pictures, feeds, notifications, counts.
  ///
  /// - Parameter former: how many jobs were pending before. They may stay, as one does that waits for its retry.
  private func waitForJobs(
    _ database: JobsDatabase, beyond former: Int, _ event: @Sendable (Event) -> Void
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(600)
    var (most, last, changed) = (0, 0, ContinuousClock.now)
    while true {
      let left = try await database.pendingCount()
      if left != last { (last, changed) = (left, .now) }
      if left == 0 || (left <= former && changed + .seconds(3) < .now) { return }
      guard .now < deadline else {
        throw OperationError(
          .failed,
          "\(left) jobs are still pending after ten minutes: `fanmill jobs list` shows them; run the demo again later")
      }
      most = max(most, left)
      event(.progress(most - left, of: most, "jobs, most of them sizes of pictures"))
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  // MARK: The report

  private struct SignIn: Encodable {
    let email: String
    let password: String
  }

  private struct Session: Decodable { let token: String }

  private struct Unread: Decodable { let unread: Int }

  private struct Conversations: Decodable { let items: [Unread] }

  /// Signs in as the visitor, as the reader of the report will.
  private func report(
    _ plan: ExhibitionPlan, isNew: Bool, since start: ContinuousClock.Instant, _ api: ExhibitionAPI
  ) async throws -> ExhibitionReport {
    let visitor = plan.students[ExhibitionPlan.visitor]
    let session = try await api.send(
      .post, "sessions", as: nil, json: SignIn(email: visitor.email, password: Self.password), expecting: 201
    ).decode(Session.self)
    let caller = ExhibitionAPI.Caller(token: session.token)
    let notices = try await api.send(.get, "notifications/unread", as: caller, expecting: 200).decode(Unread.self)
    let talks = try await api.send(.get, "conversations?limit=50", as: caller, expecting: 200)
      .decode(Conversations.self)
    try await api.send(.delete, "sessions/current", as: caller, expecting: 204)
    let shown = plan.posts.reduce(0) { $0 + $1.prints.count }
    let avatars = plan.students.count { $0.avatar != nil }
    let hearts = plan.hearts.fans.count { $0.round != nil }
    let hasChannels = LocalStack.isStandIn(settings)
    return ExhibitionReport(
      url: "http://127.0.0.1:\(settings["FANMILL_API_PORT"] ?? "")", username: visitor.username, email: visitor.email,
      password: Self.password, isNew: isNew, accounts: plan.students.count, posts: plan.posts.count,
      pictures: PictureWorkshop.isAvailable ? shown + avatars : 0,
      comments: plan.steps.reduce(0) { $0 + $1.comments.count },
      likes: plan.steps.reduce(0) { $0 + $1.likes.count }, follows: plan.steps.reduce(0) { $0 + $1.follows.count },
      messages: plan.steps.reduce(0) { $0 + $1.messages.count }, hearts: hasChannels ? hearts : 0,
      channels: hasChannels ? plan.hearts.channels.count : 0, unreadNotifications: notices.unread,
      unreadMessages: talks.items.reduce(0) { $0 + $1.unread }, seconds: start.duration(to: .now) / .seconds(1))
  }
}
