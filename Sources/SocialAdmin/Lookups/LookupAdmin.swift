import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Social

/// A lookup, for operators.
public struct LookupSummary: Codable, Sendable, Hashable {
  public let id: String
  /// The parsed question: `id:UC…`, `handle:@…` or `text:…`.
  public let question: String
  public let state: Lookup.State
  /// Why it failed or is being retried.
  public let reason: String?
  public let message: String?
  public let retryAt: Date?
  public let createdAt: Date
  public let endedAt: Date?

  init(_ lookup: Lookup) {
    id = lookup.id.uuidString.lowercased()
    question = lookup.question
    state = lookup.state
    reason = lookup.reason
    message = lookup.message
    retryAt = lookup.retryAt
    createdAt = lookup.createdAt
    endedAt = lookup.endedAt
  }
}

/// A channel, for operators.
public struct ChannelSummary: Codable, Sendable, Hashable {
  public let id: String
  public let title: String
  public let handle: String?
  public let thumbnail: String?
  public let url: String

  init(_ channel: Channel) {
    id = channel.id
    title = channel.title
    handle = channel.handle
    thumbnail = channel.thumbnail
    url = channel.url
  }
}

/// The answer to a question, with the lookup that fetched it; without a lookup if the answer was cached.
public struct LookupReport: Codable, Sendable {
  public let lookup: LookupSummary?
  public let items: [ChannelSummary]
}

/// Operators' actions on lookups.
public struct LookupAdmin: Sendable {
  private let lookups: Lookups
  private let pool: PostgresPool
  private let clock: any Clock<Duration>

  /// - Parameter clock: measures how long to wait for an answer.
  public init(rules: LookupRules, pool: PostgresPool, clock: any Clock<Duration> = ContinuousClock()) {
    lookups = Lookups(rules: rules)
    self.pool = pool
    self.clock = clock
  }

  /// The newest lookups, optionally of one state.
  public func list(state: Lookup.State?, limit: Int) async throws -> [LookupSummary] {
    try await Lookups.list(state: state, limit: limit, in: pool).map(LookupSummary.init)
  }

  /// - Throws: `.usage` for an invalid id, `.notFound`.
  public func show(_ id: String) async throws -> LookupReport {
    guard let uuid = UUID(uuidString: id) else {
      throw OperationError(.usage, "'\(id)' is not a lookup's id: `fanmill lookups list` shows them")
    }
    return try await report(uuid)
  }

  private func report(_ id: UUID) async throws -> LookupReport {
    do {
      let (lookup, channels) = try await lookups.lookup(id, in: pool)
      return LookupReport(lookup: LookupSummary(lookup), items: channels.map(ChannelSummary.init))
    } catch let error as SocialError where error.code == .notFound {
      throw OperationError(.notFound, "there is no lookup \(id.uuidString.lowercased())")
    }
  }

  /// Starts a lookup and waits for the answer.
  ///
  /// - Parameter patience: how long to wait.
  /// - Throws: `.data` for an invalid question; `.failed` with the reason if no answer came.
  public func run(
    _ typed: String, through jobs: JobClient<RedisBroker, PostgresLedger>, patience: Duration
  ) async throws -> LookupReport {
    let question: ChannelQuestion
    do {
      question = try ChannelQuestion(typed)
    } catch {
      throw OperationError(.data, "the question \(error.message.dropFirst(error.field == "q" ? 2 : 0))")
    }
    switch try await lookups.ask(question, of: jobs, pool: pool) {
    case .channels(let channels), .known(let channels):
      return LookupReport(lookup: nil, items: channels.map(ChannelSummary.init))
    case .exhausted(let until), .accountExhausted(let until):
      throw OperationError(
        .failed, "no answer is stored, and the budget is spent until \(until.formatted(.iso8601)): see `fanmill quota`")
    case .noKey:
      throw OperationError(.failed, "no key is set (FANMILL_YOUTUBE_KEYS), or none is accepted: see `fanmill quota`")
    case .lookup(let id): return try await wait(for: id, patience)
    }
  }

  private func wait(for id: UUID, _ patience: Duration) async throws -> LookupReport {
    var left = patience
    while true {
      let report = try await report(id)
      guard let lookup = report.lookup else { return report }
      let why = [lookup.reason, lookup.message].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ": ")
      switch lookup.state {
      case .done: return report
      case .failed: throw OperationError(.failed, "lookup \(lookup.id) failed: \(why)")
      case .parked:
        let until = lookup.retryAt?.formatted(.iso8601) ?? "later"
        throw OperationError(.failed, "lookup \(lookup.id) is parked until \(until): the budget is spent")
      case .waiting, .running:
        guard left > .zero else {
          let so = why.isEmpty ? "" : " (\(why))"
          throw OperationError(
            .failed, "lookup \(lookup.id) is still \(lookup.state.rawValue)\(so): check that a worker serves the queue")
        }
      }
      let pause = min(left, Duration.milliseconds(100))
      try await clock.sleep(for: pause)
      left -= pause
    }
  }
}
