import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Finds channels from stored answers, or else by a lookup.
///
/// A lookup belongs to its question, not to an account. Its id cannot be guessed, and any holder of the id may follow
/// it; it reveals neither the requester nor the text they typed.
public struct Lookups: Sendable {
  /// The immediate result of a query.
  public enum Answer: Sendable {
    case channels([Channel])
    /// Stored channels that match the words of a search that was not made; a search may find more.
    case known([Channel])
    /// The id of a lookup that will bring the answer.
    case lookup(UUID)
    /// Nothing is stored, and every budget is spent until then.
    case exhausted(until: Date)
    /// Nothing is stored, and the account has used its daily share.
    case accountExhausted(until: Date)
    /// Nothing is stored, and no key is set or none works.
    case noKey
  }

  public let rules: LookupRules
  private let now: @Sendable () -> Date

  public init(rules: LookupRules, now: @escaping @Sendable () -> Date = { JobClock.now }) {
    self.rules = rules
    self.now = now
  }

  // MARK: Query

  /// The stored answer, if it is fresh or YouTube cannot be queried now; otherwise a lookup, shared with other requests
  /// for the same question.
  ///
  /// - Parameters:
  ///   - mayBeKnown: whether stored channels that contain the words may answer instead of a search, which is expensive.
  ///   - account: the account charged for a new lookup; nil for an operator, who has no share.
  ///   - begin: called before a lookup begins; an error thrown here prevents it.
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
    // A lookup of the same question may end between these statements. Then its answer is stored, or it failed and a new
    // one begins.
    while true {
      do {
        if let answer = try await open(question, by: account, client, at: date, begin) { return answer }
      } catch is OverShare {
        return kept.map { .channels($0.channels) } ?? .accountExhausted(until: day.end)
      }
    }
  }

  /// Notifies an account of a lookup's end, if it listens to the event feed.
  public static func follow(_ lookup: UUID, by account: Int, in pool: PostgresPool) async throws {
    try await pool.execute(
      """
      INSERT INTO lookup_followers (account_id, lookup_id)
      SELECT \(account), id FROM lookups WHERE id = \(PostgresUUID(lookup)) ON CONFLICT DO NOTHING
      """)
  }

  /// Shares the open lookup of a question or begins one.
  ///
  /// - Returns: nil if the open one ended meanwhile without an answer.
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
          // A lookup whose job was given up would otherwise block its question forever.
          Self.endAbandoned(question, at: date, client.ledger.database.schema),
          Self.insert(lookup, question, record, at: date),
          Self.openLookup(question),
          ChannelStore.answerQuery(question, since: oldestKept(date)),
        ])
        let open = try rows[2].decode(UUID.self).first
        let kept = try ChannelStore.kept(rows[3])
        let isNew = open == lookup
        // A lookup that ended since the first read has stored the answer. Roll back what was begun here.
        if isNew || open == nil, let kept, isFresh(kept, date) { throw Found(channels: kept.channels) }
        if isNew {
          try await transaction.add([record])
          if let account {
            if try await !book(question, for: account, at: date, in: transaction.sql) { throw OverShare() }
          }
          // Last, so that an earlier refusal does not count.
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

  /// Begins a lookup unless one is open for its question.
  private static func insert(
    _ lookup: UUID, _ question: ChannelQuestion, _ record: JobRecord, at date: Date
  ) -> PostgresQuery {
    """
    INSERT INTO lookups (id, question, job, created_at)
    VALUES (\(PostgresUUID(lookup)), \(question.key), \(PostgresUUID(record.id)), \(date))
    ON CONFLICT (question) WHERE state IN ('waiting', 'running', 'parked') DO NOTHING
    """
  }

  /// - Returns: false if the account's daily share is used up.
  private func book(
    _ question: ChannelQuestion, for account: Int, at date: Date, in transaction: PostgresTransaction
  ) async throws -> Bool {
    try await AccountQuota.book(
      account, isSearch: question.isSearch, rules, on: PacificDay(containing: date), in: transaction)
  }

  /// An answer that arrived while its lookup was about to begin; rolls the transaction back.
  private struct Found: Error {
    let channels: [Channel]
  }

  /// The account has used its daily share; rolls the transaction back.
  private struct OverShare: Error {}

  /// Begins the lookup of a celeb that YouTube was never asked about, or did not know, in the transaction that
  /// registers it. The account is charged. If no key is set or its daily share is used up, the upkeep looks the celeb
  /// up later.
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

  /// Ends open lookups whose jobs are no longer pending, such as dead ones.
  ///
  /// - Parameter question: nil for all questions.
  static func endAbandoned(_ question: ChannelQuestion?, at date: Date, _ schema: JobsSchema) -> PostgresQuery {
    // The job is compared again once the row is locked: a lookup parked meanwhile has a new job.
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

  // MARK: Read

  /// A lookup, and the channels stored for its question: the complete answer once it is done, older channels before.
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

  /// Lookups, newest first.
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
  /// Whether it needs a search; other calls cost little.
  public var isSearch: Bool {
    if case .text = form { true } else { false }
  }
}
