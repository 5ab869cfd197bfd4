import DurableJobs
import Foundation
import LibPQClient
import Locking
import Logging
import Metrics

/// Calls the YouTube Data API within its budgets, using the keys in turn.
public struct YouTube: Sendable {
  public let rules: LookupRules
  let now: @Sendable () -> Date
  let pool: PostgresPool
  let ledger: QuotaLedger
  private let transport: any YouTubeTransport
  private let logger: Logger
  private let metrics = YouTubeMetrics()
  /// The index of the key to use first.
  private let turn = Locked(0)

  /// - Parameters:
  ///   - pool: stores the budgets.
  ///   - now: the clock; tests pass their own.
  public init(
    transport: any YouTubeTransport, rules: LookupRules, pool: PostgresPool, logger: Logger,
    now: @escaping @Sendable () -> Date = { JobClock.now }
  ) {
    self.transport = transport
    self.rules = rules
    self.pool = pool
    self.now = now
    self.logger = logger
    ledger = QuotaLedger(pool: pool)
  }

  /// The outcome of a call.
  enum Outcome: Sendable {
    case answered(YouTubeAnswer)
    /// Unchanged, as the etag shows.
    case notModified
    /// Every budget is spent until then.
    case spent(until: Date)
    /// No key is set, or none works.
    case noKey
    /// The call can never succeed.
    case refused(LookupFailure)
    /// The call may succeed later.
    case failed(LookupFailure)
  }

  /// The outcome of a call, and the quota it used, to be settled.
  struct Reply: Sendable {
    var outcome: Outcome
    var uses: [QuotaLedger.Use] = []
  }

  // MARK: Budgets

  /// Reserves the cost of `count` calls, or of fewer if the budgets do not suffice.
  func reserve(_ count: Int, isSearch: Bool) async throws -> [QuotaLedger.Ticket] {
    let keys = rules.keys
    if keys.isEmpty || count == 0 { return [] }
    let price = rules.budgets.price(isSearch: isSearch)
    let date = now()
    let day = PacificDay(containing: date)
    let first = turn.withLock { turn in
      turn = (turn + 1) % keys.count
      return turn
    }
    var tickets: [QuotaLedger.Ticket] = []
    for offset in keys.indices where tickets.count < count {
      let key = keys[(first + offset) % keys.count]
      let grant = try await ledger.reserve(
        count - tickets.count, of: key, price, limit: rules.budgets.limit(of: price.kind), on: day, at: date)
      let ticket = QuotaLedger.Ticket(
        key: key, day: day, budget: price.kind, cost: price.cost, isProbe: grant.isProbe)
      tickets += Array(repeating: ticket, count: grant.count)
    }
    return tickets
  }

  /// The reason that nothing could be reserved.
  func lack(isSearch: Bool) async throws -> Outcome {
    let date = now()
    let day = PacificDay(containing: date)
    switch try await QuotaLedger.standing(rules, isSearch: isSearch, on: day, at: date, in: pool) {
    case .spent(let until): return .spent(until: until)
    case .noKey: return .noKey
    case .available:
      return .failed(LookupFailure("budget_contended", "other lookups had reserved the budget: retry shortly"))
    }
  }

  // MARK: Calls

  /// Makes a call, and retries with another key if one is refused or spent.
  ///
  /// - Parameter ticket: the reservation for the call.
  /// - Throws: `CancellationError`, database errors.
  func ask(_ call: YouTubeCall, etag: String? = nil, paying ticket: QuotaLedger.Ticket) async throws -> Reply {
    var uses: [QuotaLedger.Use] = []
    var ticket = ticket
    while true {
      let response: YouTubeResponse
      do {
        response = try await transport.get(
          path: call.path, query: call.query + [("key", ticket.key.value)], etag: etag)
      } catch {
        if error is CancellationError || Task.isCancelled { throw CancellationError() }
        let failure = error as? YouTubeTransportError
        uses.append(QuotaLedger.Use(ticket: ticket, isSpent: !(failure?.isUnsent ?? false)))
        metrics.failed.increment()
        return Reply(
          outcome: .failed(failed(failure?.reason ?? "transport", failure?.message ?? "\(error)")), uses: uses)
      }
      let served = uses + [QuotaLedger.Use(ticket: ticket, isSpent: true, isServed: true)]
      switch response.status {
      case 200: return Reply(outcome: read(response, call), uses: served)
      case 304 where etag != nil:
        metrics.notModified.increment()
        return Reply(outcome: .notModified, uses: served)
      default: break
      }
      let refusal = YouTubeRefusal(response)
      // A call refused for a spent budget costs nothing; every other refusal does.
      uses.append(QuotaLedger.Use(ticket: ticket, isSpent: refusal.consequence != .spent))
      metrics.refused.increment()
      let failure = failed(refusal.reason, refusal.message)
      switch refusal.consequence {
      case .final: return Reply(outcome: .refused(failure), uses: served)
      case .later: return Reply(outcome: .failed(failure), uses: uses)
      case .spent:
        try await ledger.markSpentOut(ticket, limit: rules.budgets.limit(of: ticket.budget), at: now())
      case .keyRefused: try await disable(ticket.key, failure)
      }
      guard let next = try await reserve(1, isSearch: call.isSearch).first else {
        return Reply(outcome: try await lack(isSearch: call.isSearch), uses: uses)
      }
      ticket = next
    }
  }

  private func read(_ response: YouTubeResponse, _ call: YouTubeCall) -> Outcome {
    do throws(MalformedAnswer) {
      let answer = try YouTubeAnswer(response, to: call)
      metrics.answered.increment()
      return .answered(answer)
    } catch {
      metrics.failed.increment()
      return .failed(failed("malformed_answer", "\(error)"))
    }
  }

  private func disable(_ key: YouTubeKey, _ failure: LookupFailure) async throws {
    guard try await ledger.disable(key, reason: failure.reason, message: failure.message, at: now()) else { return }
    metrics.disabledKeys.increment()
    logger.error(
      "YouTube refused an API key, which is now disabled; `fanmill quota` shows it",
      metadata: ["key": "\(key.label)", "reason": "\(failure.reason)", "message": "\(failure.message)"])
  }

  /// A failure with all keys removed from its text, in case the service echoed one.
  private func failed(_ reason: String, _ message: String) -> LookupFailure {
    func clean(_ text: String) -> String {
      rules.keys.reduce(text) { $0.replacing($1.value, with: "[key \($1.label)]") }
    }
    return LookupFailure(clean(reason), clean(message))
  }
}

/// The reason that a lookup failed; stored with it, and shown to the requester.
struct LookupFailure: Error, Sendable, CustomStringConvertible {
  /// For programs: YouTube's own code, or one of ours, with an underscore.
  let reason: String
  /// For display.
  let message: String

  init(_ reason: String, _ message: String) {
    self.reason = reason
    self.message = message
  }

  var description: String { message.isEmpty ? reason : "\(reason): \(message)" }
}
