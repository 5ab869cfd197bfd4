import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Decides the outcome of lookups after their calls, and writes it in one transaction that also ends their jobs and
/// settles the cost of the calls.
struct LookupRecord<J: LookupJob>: Sendable {
  typealias Open = LookupBatch<J>.Open

  private let date: Date
  private let pool: PostgresPool
  private var answers: [(lookup: Open, answer: YouTubeAnswer)] = []
  private var confirmed: [Open] = []
  private var parked: [(lookup: Open, until: Date)] = []
  private var failed: [(lookup: Open, failure: LookupFailure)] = []
  /// Lookups to retry: their jobs continue.
  private var again: [(lookup: Open, failure: LookupFailure)] = []
  private var uses: [QuotaLedger.Use] = []

  init(_ replies: [LookupReply<J>], at date: Date, in pool: PostgresPool) {
    self.date = date
    self.pool = pool
    for reply in replies {
      uses += reply.reply.uses
      for lookup in reply.lookups { note(lookup, reply) }
    }
  }

  private mutating func note(_ lookup: Open, _ reply: LookupReply<J>) {
    switch reply.reply.outcome {
    case .answered(var answer):
      if let id = lookup.question.channelID { answer.channels.removeAll { $0.id != id } }
      // The etag of a call for several questions belongs to none of them.
      if reply.lookups.count > 1 { answer.etag = nil }
      answers.append((lookup, answer))
    case .notModified: confirmed.append(lookup)
    case .spent(let until):
      // Spread out, so that they do not all call in the first second, when the service may not have begun the new day.
      parked.append((lookup, until.addingTimeInterval(.random(in: 0...LookupRules.returnSpread))))
    case .noKey:
      failed.append((lookup, LookupFailure("no_key", "no key of the YouTube API is set, or none is accepted")))
    case .refused(let failure): failed.append((lookup, failure))
    case .failed(let failure):
      if lookup.job.attempt < J.retry.maxAttempts {
        again.append((lookup, failure))
      } else {
        failed.append((lookup, failure))
      }
    }
  }

  func write(in batch: JobBatch<J, PostgresLedger>) async throws {
    // In a separate transaction: with the rows written below locked, two of these could deadlock.
    let missing = answers.filter { $0.answer.channels.isEmpty }.compactMap(\.lookup.question.channelID)
    try await ChannelStore.forget(Set(missing), at: date, in: pool)
    let ending = answers.map(\.lookup.job) + confirmed.map(\.job) + parked.map(\.lookup.job) + failed.map(\.lookup.job)
    try await batch.transaction(ending: ending) { live, transaction in
      // Another delivery has written the rest.
      let live = Set(live.map(\.id))
      var statements = try await park(parked.filter { live.contains($0.lookup.job.id) }, in: transaction)
      let answers = answers.filter { live.contains($0.lookup.job.id) }
      let confirmed = confirmed.filter { live.contains($0.job.id) }
      let failed = failed.filter { live.contains($0.lookup.job.id) }
      let done = answers.map(\.lookup.id) + confirmed.map(\.id)
      if !done.isEmpty {
        statements.append(
          """
          UPDATE lookups SET state = 'done', reason = NULL, message = NULL, ended_at = \(date)
          WHERE id = ANY(\(done.map { PostgresUUID($0) }))
          """)
      }
      if !failed.isEmpty { statements.append(failure(of: failed, state: "failed", endedAt: date)) }
      if !again.isEmpty { statements.append(failure(of: again, state: "waiting", endedAt: nil)) }
      statements += ChannelStore.lock(
        answers.flatMap { $0.answer.channels.map(\.id) }, confirmed: confirmed.map(\.question))
      statements += ChannelStore.keep(answers.map { ($0.lookup.question, $0.answer) }, at: date)
      statements += ChannelStore.confirm(confirmed.map(\.question), at: date)
      try await transaction.sql.pipeline(statements)
      try await QuotaLedger.settle(uses, in: transaction.sql)
    }
    for (lookup, failure) in again { batch.fail(lookup.job, failure) }
  }

  /// Enqueues their jobs again for when there is a budget.
  private func park(
    _ parked: [(lookup: Open, until: Date)], in transaction: AppTransaction
  ) async throws -> [PostgresQuery] {
    if parked.isEmpty { return [] }
    let records = try parked.map { lookup, until in
      // Not before the budget: rounded up to the milliseconds of a job's time.
      let due = Date(timeIntervalSince1970: (until.timeIntervalSince1970 * 1000).rounded(.up) / 1000)
      return try JobRecord(
        J(lookup: lookup.id, words: lookup.question.words), options: JobOptions(at: due), isDurable: true)
    }
    try await transaction.add(records)
    return [
      """
      UPDATE lookups l SET state = 'parked', retry_at = until, job = next
      FROM unnest(\(parked.map { PostgresUUID($0.lookup.id) }), \(parked.map(\.until)),
        \(records.map { PostgresUUID($0.id) })) AS parked (id, until, next)
      WHERE l.id = parked.id
      """
    ]
  }

  private func failure(
    of lookups: [(lookup: Open, failure: LookupFailure)], state: String, endedAt: Date?
  ) -> PostgresQuery {
    """
    UPDATE lookups l SET state = \(state), reason = failed.reason, message = failed.message, ended_at = \(endedAt)
    FROM unnest(\(lookups.map { PostgresUUID($0.lookup.id) }), \(lookups.map(\.failure.reason)),
      \(lookups.map(\.failure.message))) AS failed (id, reason, message)
    WHERE l.id = failed.id AND l.state = 'running'
    """
  }
}
