import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Runs a batch of lookups: reserves the cost of their calls, makes all calls at once, and stores answers as they
/// arrive, in as few transactions as possible.
struct LookupBatch<J: LookupJob>: Sendable {
  /// A lookup in this batch.
  struct Open: Sendable {
    let id: UUID
    let question: ChannelQuestion
    let etag: String?
    let job: BatchedJob<J>
  }

  /// A call and the lookups that it answers.
  struct Planned: Sendable {
    let call: YouTubeCall
    let lookups: [Open]
    /// nil unless the call asks one question: an etag covers the whole response.
    var etag: String? { lookups.count == 1 ? lookups[0].etag : nil }
  }

  private enum Step: Sendable {
    case replied(LookupReply<J>)
    case written
  }

  let batch: JobBatch<J, PostgresLedger>
  let youtube: YouTube

  init(_ batch: JobBatch<J, PostgresLedger>, _ youtube: YouTube?) throws(NoYouTube) {
    guard let youtube else { throw NoYouTube() }
    self.batch = batch
    self.youtube = youtube
  }

  func run() async throws {
    let calls = Self.plan(try await begin())
    let searches = calls.filter(\.call.isSearch)
    let others = calls.filter { !$0.call.isSearch }
    let paid = try await pay(for: searches, isSearch: true) + (try await pay(for: others, isSearch: false))
    try await withThrowingTaskGroup(of: Step.self) { group in
      for (call, ticket, lack) in paid {
        group.addTask {
          guard let ticket else { return .replied(LookupReply(call, YouTube.Reply(outcome: lack))) }
          return .replied(LookupReply(call, try await youtube.ask(call.call, etag: call.etag, paying: ticket)))
        }
      }
      var gathered: [LookupReply<J>] = []
      var isWriting = false
      while let step = try await group.next() {
        switch step {
        case .replied(let reply): gathered.append(reply)
        case .written: isWriting = false
        }
        if isWriting || gathered.isEmpty { continue }
        // Replies that arrive during this write go into the next transaction, so a slow call delays no other.
        let replies = gathered
        gathered = []
        isWriting = true
        group.addTask {
          try await LookupRecord(replies, at: youtube.now(), in: youtube.pool).write(in: batch)
          return .written
        }
      }
    }
  }

  /// Marks the lookups as running. Leaves out those that have ended or belong to another job: their jobs have nothing
  /// to do.
  private func begin() async throws -> [Open] {
    let jobs = batch.jobs
    let rows = try await youtube.pool.query(
      """
      WITH mine AS (
        SELECT l.id FROM lookups l
        JOIN unnest(\(jobs.map { PostgresUUID($0.job.lookup) }),
          \(jobs.map { PostgresUUID($0.id) })) AS wanted (id, job)
          ON l.id = wanted.id AND l.job = wanted.job
        WHERE l.state IN ('waiting', 'running', 'parked') ORDER BY l.id FOR UPDATE OF l
      )
      UPDATE lookups l SET state = 'running', retry_at = NULL FROM mine WHERE l.id = mine.id
      RETURNING l.id, l.question, (SELECT etag FROM channel_answers answer WHERE answer.question = l.question)
      """)
    let byLookup = Dictionary(jobs.map { ($0.job.lookup, $0) }) { first, _ in first }
    return try rows.decode(UUID.self, String.self, String?.self).compactMap { id, key, etag in
      guard let job = byLookup[id], let question = ChannelQuestion(key: key, words: job.job.words) else { return nil }
      return Open(id: id, question: question, etag: etag, job: job)
    }
  }

  /// The fewest calls that answer all lookups.
  private static func plan(_ lookups: [Open]) -> [Planned] {
    var calls: [Planned] = []
    var byID: [Open] = []
    for lookup in lookups {
      switch lookup.question.form {
      case .id: byID.append(lookup)
      case .handle: calls.append(Planned(call: .handle(lookup.question.words), lookups: [lookup]))
      case .text: calls.append(Planned(call: .search(lookup.question.words), lookups: [lookup]))
      }
    }
    while !byID.isEmpty {
      let some = Array(byID.prefix(YouTubeCall.maxIDs))
      byID.removeFirst(some.count)
      calls.append(Planned(call: .channels(some.compactMap(\.question.channelID)), lookups: some))
    }
    return calls
  }

  /// A ticket for each call as far as the budgets allow, and for the rest the reason that there is none.
  private func pay(
    for calls: [Planned], isSearch: Bool
  ) async throws -> [(Planned, QuotaLedger.Ticket?, lack: YouTube.Outcome)] {
    let tickets = try await youtube.reserve(calls.count, isSearch: isSearch)
    let lack: YouTube.Outcome = tickets.count < calls.count ? try await youtube.lack(isSearch: isSearch) : .noKey
    return calls.enumerated().map { index, call in (call, index < tickets.count ? tickets[index] : nil, lack) }
  }
}

/// The reply to a call, and the lookups it was made for.
struct LookupReply<J: LookupJob>: Sendable {
  let lookups: [LookupBatch<J>.Open]
  let reply: YouTube.Reply

  init(_ call: LookupBatch<J>.Planned, _ reply: YouTube.Reply) {
    lookups = call.lookups
    self.reply = reply
  }
}
