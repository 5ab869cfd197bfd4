import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Asks for channels: from what is kept, else by a lookup.
///
/// A lookup belongs to its question and to nobody: whoever has its id, which cannot be guessed, may follow it, and
/// neither who asked nor what they typed is told.
public struct Lookups: Sendable {
  /// What somebody who asks gets at once.
  public enum Answer: Sendable {
    case channels([Channel])
    /// Channels that contain the words of a search that was not made: it may find more.
    case known([Channel])
    /// A lookup's id: its answer comes.
    case lookup(UUID)
    /// Nothing is kept, and every budget is spent until then.
    case exhausted(until: Date)
    /// Nothing is kept, and the account that asks has used its share of the day.
    case accountExhausted(until: Date)
    /// Nothing is kept, and no key is set or none works.
    case noKey
  }

  public let rules: LookupRules
  private let now: @Sendable () -> Date

  public init(rules: LookupRules, now: @escaping @Sendable () -> Date = { JobClock.now }) {
    self.rules = rules
    self.now = now
  }

  // MARK: Ask

  /// What is kept, if it is fresh, or if YouTube cannot be asked now; else a lookup, which others who ask the same
  /// share.
  ///
  /// - Parameters:
  ///   - mayBeKnown: whether kept channels that contain the words answer for a search, which costs much.
  ///   - account: who pays for a lookup that this begins; nil for an operator, whom no share limits.
  ///   - begin: called before a lookup is begun; what it throws keeps it from that.
  public func ask<B: Broker>(
    _ question: ChannelQuestion, mayBeKnown: Bool = false, by account: Int? = nil,
    of client: JobClient<B, PostgresLedger>, pool: PostgresPool,
    begin: @Sendable () async throws -> Void = {}
  ) async throws -> Answer {
    let date = now()
    let kept = try await ChannelStore.answer(to: question, since: oldestKept(date), in: pool)
    if let kept, isFresh(kept, date) { return .channels(kept.channels) }
    if mayBeKnown, case .text(let text) = question.form {
      let known = try await ChannelStore.channels(with: text, since: oldestKept(date), limit: 25, in: pool)
      if !known.isEmpty { return .known(known) }
    }
    let day = PacificDay(containing: date)
    switch try await QuotaLedger.standing(rules, isSearch: question.isSearch, on: day, at: date, in: pool) {
    case .available: break
    case .spent(let until):
      if let kept { return .channels(kept.channels) }
      let open = try await pool.query(Self.openLookup(question)).decode(UUID.self).first
      return open.map { .lookup($0) } ?? .exhausted(until: until)
    case .noKey: return kept.map { .channels($0.channels) } ?? .noKey
    }
    // Between its statements a lookup of the same question may end: then its answer is there, or it failed and the next
    // begins.
    while true {
      do {
        if let answer = try await open(question, by: account, client, at: date, begin) { return answer }
      } catch is OverShare {
        return kept.map { .channels($0.channels) } ?? .accountExhausted(until: day.end)
      }
    }
  }

  /// Lets an account hear of a lookup's end, if it listens to what is new.
  public static func follow(_ lookup: UUID, by account: Int, in pool: PostgresPool) async throws {
    try await pool.execute(
      """
      INSERT INTO lookup_followers (account_id, lookup_id)
      SELECT \(account), id FROM lookups WHERE id = \(PostgresUUID(lookup)) ON CONFLICT DO NOTHING
      """)
  }

  /// Shares the open lookup of a question or begins one.
  ///
  /// - Returns: nil if the one that was open ended meanwhile without an answer.
  /// - Throws: `OverShare`.
  private func open<B: Broker>(
    _ question: ChannelQuestion, by account: Int?, _ client: JobClient<B, PostgresLedger>, at date: Date,
    _ begin: @Sendable () async throws -> Void
  ) async throws -> Answer? {
    let lookup = UUID()
    let record = try Self.record(of: lookup, question)
    do {
      return try await client.transaction { transaction in
        let rows = try await transaction.sql.pipeline([
          // One whose job was given up would keep its question for ever.
          Self.endAbandoned(question, at: date, client.ledger.database.schema),
          Self.insert(lookup, question, record, at: date),
          Self.openLookup(question),
          ChannelStore.answerQuery(question, since: oldestKept(date)),
        ])
        let open = try rows[2].decode(UUID.self).first
        let kept = try ChannelStore.kept(rows[3])
        let isNew = open == lookup
        // One that ended since the first look has left what is asked for. Nothing that was begun here stays.
        if isNew || open == nil, let kept, isFresh(kept, date) { throw Found(channels: kept.channels) }
        if isNew {
          try await transaction.add([record])
          if let account {
            if try await !book(question, for: account, at: date, in: transaction.sql) { throw OverShare() }
          }
          // Last: what is refused before costs nothing.
          try await begin()
        }
        return open.map { .lookup($0) }
      }
    } catch let found as Found {
      return .channels(found.channels)
    }
  }

  private static func record(of lookup: UUID, _ question: ChannelQuestion) throws -> JobRecord {
    question.isSearch
      ? try JobRecord(TextLookup(lookup: lookup, words: question.words), isDurable: true)
      : try JobRecord(ChannelLookup(lookup: lookup, words: question.words), isDurable: true)
  }

  /// Begins a lookup unless one of its question is open.
  private static func insert(
    _ lookup: UUID, _ question: ChannelQuestion, _ record: JobRecord, at date: Date
  ) -> PostgresQuery {
    """
    INSERT INTO lookups (id, question, job, created_at)
    VALUES (\(PostgresUUID(lookup)), \(question.key), \(PostgresUUID(record.id)), \(date))
    ON CONFLICT (question) WHERE state IN ('waiting', 'running', 'parked') DO NOTHING
    """
  }

  /// - Returns: false if the account's share of the day is used up.
  private func book(
    _ question: ChannelQuestion, for account: Int, at date: Date, in transaction: PostgresTransaction
  ) async throws -> Bool {
    try await AccountQuota.book(
      account, isSearch: question.isSearch, rules, on: PacificDay(containing: date), in: transaction)
  }

  /// An answer that came while its lookup was about to begin: the transaction is undone.
  private struct Found: Error {
    let channels: [Channel]
  }

  /// An account has used its share of the day: the transaction is undone.
  private struct OverShare: Error {}

  /// Begins the lookup of a celeb that YouTube has not been asked for, or did not know, in the transaction that
  /// registers it. The account pays. Where no key is set, or its share of the day is used up, the upkeep asks later.
  public func begin(for celeb: FanCeleb, by account: Int, in transaction: AppTransaction) async throws {
    guard celeb.platform == .youtube, celeb.state != .verified, !rules.keys.isEmpty else { return }
    let (question, date, lookup) = (ChannelQuestion(channel: celeb.account), now(), UUID())
    let record = try Self.record(of: lookup, question)
    let answers = try await transaction.sql.pipeline([
      Self.insert(lookup, question, record, at: date),
      Self.openLookup(question),
    ])
    guard try answers[1].decode(UUID.self).first == lookup else { return }
    if try await book(question, for: account, at: date, in: transaction.sql) {
      try await transaction.add([record])
    } else {
      try await transaction.sql.execute("DELETE FROM lookups WHERE id = \(PostgresUUID(lookup))")
    }
  }

  private static func openLookup(_ question: ChannelQuestion) -> PostgresQuery {
    "SELECT id FROM lookups WHERE question = \(question.key) AND state IN ('waiting', 'running', 'parked')"
  }

  /// Ends open lookups whose jobs nobody owes any more, such as dead ones.
  ///
  /// - Parameter question: nil for all.
  static func endAbandoned(_ question: ChannelQuestion?, at date: Date, _ schema: JobsSchema) -> PostgresQuery {
    // The job is compared again once the row is locked: a lookup that was parked meanwhile has another one.
    """
    UPDATE lookups l SET state = 'failed', retry_at = NULL, ended_at = \(date),
      reason = coalesce(l.reason, 'given_up'), message = coalesce(l.message, 'its job was given up')
    FROM (
      SELECT id, job FROM lookups open
      WHERE state IN ('waiting', 'running', 'parked') AND (\(question == nil) OR question = \(question?.key ?? ""))
        AND NOT \(pending: "open.job", in: SocialJobs.lookupQueue, of: schema)
    ) abandoned
    WHERE l.id = abandoned.id AND l.job = abandoned.job AND l.state IN ('waiting', 'running', 'parked')
    """
  }

  private func isFresh(_ kept: ChannelStore.Kept, _ date: Date) -> Bool {
    kept.fetchedAt > date.addingTimeInterval(-rules.fresh)
  }

  private func oldestKept(_ date: Date) -> Date { date.addingTimeInterval(-rules.keep) }

  // MARK: Look

  /// A lookup, and the channels that are kept for its question: all there are when it is done, older ones before.
  ///
  /// - Throws: `not_found`.
  public func lookup(_ id: UUID, in reader: some SocialReader) async throws -> (lookup: Lookup, channels: [Channel]) {
    let rows = try await reader.rows(
      "SELECT \(unescaped: Lookup.columns) FROM lookups WHERE id = \(PostgresUUID(id))")
    guard let row = rows.first else { throw SocialError.notFound("lookup") }
    let lookup = try Lookup(row: row)
    guard let question = ChannelQuestion(key: lookup.question) else { return (lookup, []) }
    let kept = try await ChannelStore.answer(to: question, since: oldestKept(now()), in: reader)
    return (lookup, kept?.channels ?? [])
  }

  /// Lookups, the latest first.
  public static func list(
    state: Lookup.State? = nil, limit: Int, in reader: some SocialReader
  ) async throws -> [Lookup] {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Lookup.columns) FROM lookups WHERE \(state == nil) OR state = \(state?.rawValue ?? "")
      ORDER BY created_at DESC, id LIMIT \(limit)
      """)
    return try rows.map { try Lookup(row: $0) }
  }
}

extension ChannelQuestion {
  /// Whether it costs a search; the rest costs little.
  public var isSearch: Bool {
    if case .text = form { true } else { false }
  }
}
