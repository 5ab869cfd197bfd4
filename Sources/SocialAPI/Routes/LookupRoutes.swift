import DurableJobs
import Foundation
import HTTPTypes
import Hummingbird
import LibPQClient
import Locking
import Social

/// `celebs/search` and `lookups`.
///
/// Lookups are shared: all accounts with the same question share one. Any signed-in account with its id, which cannot
/// be guessed, may follow it; the response reveals neither the asker nor the text typed.
struct LookupRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let lookups: Lookups
  let budgets: RequestBudgets?

  func add(to group: RouterGroup<APIContext>) {
    group.on(.searchChannels, use: search)
    group.on(.readLookup, use: show)
  }

  private struct Found: Encodable {
    let items: [ChannelView]
    let next: Nullable<Int>
    /// Whether a search of YouTube may find more; `more=true` runs it.
    let more: Bool
  }

  private struct Begun: Encodable { var lookup: String }

  @Sendable private func search(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    try Self.checkPlatform(request.formValue("platform"))
    let question = try ChannelQuestion(request.formValue("q") ?? "")
    let wantsMore = try request.flag("more")
    let spent = Locked(HTTPFields())
    let answer = try await lookups.ask(question, mayBeKnown: !wantsMore, by: viewer.id, of: jobs, pool: pool) {
      guard let budgets else { return }
      let budget = try await budgets.spend(.lookups(budgets.limits), of: "a\(viewer.id)")
      spent.withLock { $0 = budget.headers }
    }
    switch answer {
    case .channels(let channels): return try Self.found(channels, more: false, request)
    case .known(let channels): return try Self.found(channels, more: true, request)
    case .lookup(let id):
      try await Lookups.follow(id, by: viewer.id, in: pool)
      var begun = try Answer(.accepted, Begun(lookup: id.uuidString.lowercased()))
      begun.headers = spent.withLock { $0 }
      return begun
    case .exhausted(let until):
      throw Problem(
        .serviceUnavailable, "quota_exhausted",
        "the YouTube budget is spent, and no earlier answer is stored: ask again after \(until.formatted(.iso8601))",
        retryAfter: Self.seconds(until))
    case .accountExhausted(let until):
      throw Problem(
        .tooManyRequests, "lookup_share_spent",
        "your account has used its share of today's YouTube budget: ask again after \(until.formatted(.iso8601))",
        retryAfter: Self.seconds(until))
    case .noKey:
      throw Problem(
        .serviceUnavailable, "lookups_unavailable",
        "YouTube cannot be queried: no API key is set (FANMILL_YOUTUBE_KEYS), or none is accepted", retryAfter: 300
      )
    }
  }

  private static func found(_ channels: [Channel], more: Bool, _ request: Request) throws -> Answer {
    let page = try request.part(of: channels)
    return try Answer(
      .ok, Found(items: page.items.map(ChannelView.init), next: Nullable(page.next), more: more))
  }

  private static func seconds(_ until: Date) -> Int {
    max(1, Int(until.timeIntervalSince(JobClock.now).rounded(.up)))
  }

  private static func checkPlatform(_ name: String?) throws(SocialError) {
    switch try name.map({ name throws(SocialError) in try CelebPlatform(named: name) }) {
    case .youtube: break
    case .instagram:
      throw SocialError(
        SocialError.Code(rawValue: "search_unsupported"),
        "Instagram has no search: register the username directly with PUT /v1/me/celebs/instagram/USERNAME",
        field: "platform")
    case nil: throw SocialError(.unknownPlatform, "platform is missing: use youtube or instagram", field: "platform")
    }
  }

  @Sendable private func show(_ request: Request, _ context: APIContext) async throws -> Answer {
    _ = try context.viewer
    guard let id = UUID(uuidString: try context.parameter("id")) else {
      throw SocialError(.notFound, "there is no such lookup")
    }
    let (lookup, channels) = try await lookups.lookup(id, in: pool)
    return try Answer(.ok, LookupView(lookup, channels))
  }
}

/// A channel in the results. Its account is the ACCOUNT of `me/celebs/youtube/ACCOUNT`.
struct ChannelView: Encodable, Sendable {
  let platform = "youtube"
  let account: String
  let id: String
  let title: String
  let handle: Nullable<String>
  let thumbnail: Nullable<String>
  let url: String
  let publishedAt: Nullable<Date>
  let subscribers: Nullable<Int>

  private enum CodingKeys: CodingKey {
    case platform, account, id, title, handle, thumbnail, url, publishedAt, subscribers
  }

  init(_ channel: Channel) {
    account = channel.id
    id = channel.id
    title = channel.title
    handle = Nullable(channel.handle)
    thumbnail = Nullable(channel.thumbnail)
    url = channel.url
    publishedAt = Nullable(channel.publishedAt)
    subscribers = Nullable(channel.subscribers)
  }
}

/// A lookup as its followers see it.
struct LookupView: Encodable, Sendable {
  let id: String
  let state: String
  let items: [ChannelView]
  /// The time at which a parked lookup resumes.
  let retryAt: Date?
  /// Why it failed or is being retried: for programs, and for people.
  let reason: String?
  let message: String?

  init(_ lookup: Lookup, _ channels: [Channel]) {
    id = lookup.id.uuidString.lowercased()
    state = lookup.state.rawValue
    items = channels.map(ChannelView.init)
    retryAt = lookup.retryAt
    reason = lookup.reason
    message = lookup.message
  }
}
