import Locking
import Logging

/// A claim that runs in a batch, with its payload, and its index among the claims of its work item.
struct BatchMember: Sendable {
  let place: Int
  let claim: Claim
}

/// Runs jobs of one kind together: in one transaction that ends them all, or in those that their handler opens.
struct BatchExecutor<B: Broker, L: Ledger>: Sendable {
  typealias Results = [(place: Int, result: AttemptResult)]

  let queue: QueueName
  let client: JobClient<B, L>
  let logger: Logger

  /// Runs the members of a batch, which have distinct jobs.
  ///
  /// - Returns: the result of each, with its place.
  func run(_ members: [BatchMember], _ kind: RunnableKind<L>) async -> Results {
    var results: Results = []
    switch kind.entry.handler {
    case .single: break
    case .batch(_, let handler): await runTogether(members[...], kind, handler, &results)
    case .openBatch(_, let handler): await runOpen(members, kind, handler, &results)
    }
    return results
  }

  private func runTogether(
    _ members: ArraySlice<BatchMember>, _ kind: RunnableKind<L>,
    _ handler: @Sendable ([Claim], JobTransaction<L>) async throws -> Void, _ results: inout Results
  ) async {
    if members.isEmpty { return }
    let claims = members.map(\.claim)
    let outbox = Outbox()
    let hasBegun = Locked(false)
    do {
      let held = try await client.ledger.withTransaction { [queue, client, logger] sql in
        _ = outbox.take()
        let durable = claims.filter(\.record.isDurable).map(\.record.id)
        let completion = try await client.ledger.complete(durable, queue: queue, in: sql)
        let (pending, held) = (Set(completion.ended), Set(completion.held))
        let live = claims.filter { !$0.record.isDurable || pending.contains($0.record.id) }
        if live.isEmpty { return held }
        hasBegun.withLock { $0 = true }
        try await Self.inTrace(of: live) {
          let transaction = JobTransaction(
            sql: sql, ledger: client.ledger, outbox: outbox, enqueuing: client.enqueuing)
          guard kind.middleware.hasRun else { return try await handler(live, transaction) }
          let attempt = JobAttempt(claims: live, kind: kind.entry.kind, queue: queue, logger: logger)
          try await kind.middleware.run(attempt) { try await handler(live, transaction) }
        }
        return held
      }
      await client.pushPending(outbox.take())
      for member in members {
        let isHeld = member.claim.record.isDurable && held.contains(member.claim.record.id)
        results.append((member.place, isHeld ? .failed(JobHeld()) : .ended(.acknowledge)))
      }
    } catch {
      // If the ledger could not even begin the transaction, smaller batches would fail for the same reason.
      if members.count == 1 || Task.isCancelled || !hasBegun.withLock({ $0 }) {
        results += members.map { ($0.place, .failed(error)) }
        return
      }
      if error is PayloadError {
        let sound = withoutUndecodable(members, kind.entry, &results)
        if sound.count < members.count { return await runTogether(sound, kind, handler, &results) }
      }
      let middle = members.startIndex + members.count / 2
      await runTogether(members[..<middle], kind, handler, &results)
      await runTogether(members[middle...], kind, handler, &results)
    }
  }

  private func runOpen(
    _ members: [BatchMember], _ kind: RunnableKind<L>,
    _ handler: @Sendable ([Claim], BatchProgress<L>) async throws -> Void,
    _ results: inout Results
  ) async {
    if members.isEmpty { return }
    let claims = members.map(\.claim)
    let progress = BatchProgress(
      queue: queue, durable: Set(claims.filter(\.record.isDurable).map(\.record.id)), ledger: client.ledger,
      enqueuing: client.enqueuing, logger: logger, push: { [client] in await client.pushPending($0) })
    var thrown: (any Error)?
    do {
      try await Self.inTrace(of: claims) {
        guard kind.middleware.hasRun else { return try await handler(claims, progress) }
        let attempt = JobAttempt(claims: claims, kind: kind.entry.kind, queue: queue, logger: logger)
        try await kind.middleware.run(attempt) { try await handler(claims, progress) }
      }
    } catch {
      thrown = error
    }
    for member in members {
      let record = member.claim.record
      let result: AttemptResult =
        switch progress.outcome(of: record.id) {
        case .ended: .ended(.acknowledge)
        case .failed(let error): .failed(error)
        case nil: thrown.map { .failed($0) } ?? .ended(record.isDurable ? .complete : .acknowledge)
        }
      results.append((member.place, result))
    }
  }

  /// Runs a batch in its jobs' trace if they share one; otherwise a log line could belong to any of them.
  private static func inTrace(of claims: [Claim], _ body: () async throws -> Void) async rethrows {
    guard let first = claims.first, claims.allSatisfy({ $0.record.trace?.id == first.record.trace?.id }) else {
      return try await body()
    }
    try await first.record.inTrace(body)
  }

  /// The members that decode; records the others as failed.
  private func withoutUndecodable(
    _ members: ArraySlice<BatchMember>, _ entry: JobRegistry<L>.Entry, _ results: inout Results
  ) -> ArraySlice<BatchMember> {
    var sound: [BatchMember] = []
    for member in members {
      do {
        try entry.validate(member.claim.record.payload, member.claim.record.version)
        sound.append(member)
      } catch {
        results.append((member.place, .failed(error)))
      }
    }
    return sound[...]
  }
}
