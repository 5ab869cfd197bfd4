import DurableJobs
import HiredisClient
import Logging
import Reactor

/// A worker's access to a queue on Redis. Claims wait on a dedicated connection; everything else shares the client's.
public actor RedisConsumer: BrokerConsumer {
  private let client: RedisClient
  private let loop: EventLoop
  private let keys: QueueKeys
  private let queue: QueueName
  private let worker: String
  private let lease: Duration
  private let logger: Logger
  private var incarnation = 0
  private var reader: Reader?
  private var isInterrupted = false
  private var isClaiming = false
  /// The last entry of each stream that arrived in this incarnation.
  private var lastEntries = RedisConsumer.noEntries
  private static let noEntries = Array(repeating: "0-0", count: 2 * QueueKeys.priorities)
  /// Whether a read failed whose lost reply may have contained claims.
  private var mayHaveMissed = false
  private var claimSize = ClaimSize()
  private var beats = 0
  public private(set) var epoch = ""
  /// The client's route generation when the server last confirmed the epoch.
  private var confirmedRoutes = -1

  private struct Reader {
    let connection: RedisConnection
    let clientID: Int
  }

  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(client: RedisClient, keys: QueueKeys, queue: QueueName, worker: String, lease: Duration, logger: Logger) {
    self.client = client
    self.logger = logger
    loop = client.loop
    self.keys = keys
    self.queue = queue
    self.worker = worker
    self.lease = lease
  }

  /// The consumer's name in the streams' groups. Each incarnation has a new one, to tell old claims from new.
  private var name: String { name(of: incarnation) }
  private func name(of incarnation: Int) -> String { incarnation == 0 ? worker : "\(worker)/\(incarnation)" }

  func join() async throws {
    let routes = client.routeGeneration
    let epoch = try await evaluate(Scripts.join, [name, lease.wholeMilliseconds, "\(JobID.next())"]) {
      reply throws(RedisError) in reply.text
    }
    guard let epoch else { throw BrokerError(.unexpectedReply, "Redis has no epoch for queue \(queue)") }
    self.epoch = epoch
    confirmedRoutes = routes
  }

  // MARK: Claims

  public func claim(_ count: Int, wait: Duration) async throws -> [Claim] {
    if isInterrupted { return [] }
    isClaiming = true
    defer { isClaiming = false }
    let reader = try await currentReader()
    if isInterrupted { return [] }
    let (incarnation, queue, streams) = (incarnation, queue, keys.streams)
    let count = claimSize.count(count)
    // Well below the lease: the read of a frozen worker must end before its lease does, or it would receive jobs that
    // no worker ever runs.
    let block = max(1, min(wait, lease / 2).wholeMilliseconds)
    if mayHaveMissed, let missed = try await claimMissed(count, reader, block) { return missed }
    var command = RedisCommand("XREADGROUP", "GROUP", "workers", name, "COUNT", count, "BLOCK", block, "STREAMS")
    for stream in QueueKeys.readOrder { command.append(streams[stream]) }
    for _ in QueueKeys.readOrder { command.append(">") }
    let arrived: StreamReading
    do {
      arrived = try await reader.connection.send(command) { reply throws(RedisError) in
        StreamReading(reply, queue: queue, streams: streams, incarnation: incarnation)
      }
    } catch {
      if error.serverPrefix == "UNBLOCKED" { return [] }
      if error.serverPrefix == "NOGROUP" {
        // The broker lost its data. The claims are lost with it, but the jobs are still in the ledger.
        if incarnation == self.incarnation { try await joinAnew() }
        return []
      }
      if error.code != .server || error.meansAnotherServer {
        // The server may have handed out jobs in a reply that was lost.
        mayHaveMissed = true
        await drop(reader)
        client.note(error, from: reader.connection)
      }
      // This side closed the connection, because it found a different broker.
      if isInterrupted || incarnation != self.incarnation || error.code == .closed { return [] }
      return try await nothing(becauseOf: error, block)
    }
    let good = jobs(of: arrived)
    if incarnation != self.incarnation {
      // The lease was lost while the read waited. The claims belong to an earlier incarnation: return them at once.
      try await release(good)
      return []
    }
    note(arrived)
    return good
  }

  /// Reads the claims of this consumer that never arrived because their reply was lost with its connection. A stream
  /// delivers in the order of its entries, so these come after the last one that did arrive.
  ///
  /// - Returns: nil if nothing was missed, or nothing more.
  private func claimMissed(_ count: Int, _ reader: Reader, _ block: Int64) async throws -> [Claim]? {
    let (incarnation, queue, streams) = (incarnation, queue, keys.streams)
    var command = RedisCommand("XREADGROUP", "GROUP", "workers", name, "COUNT", count, "STREAMS")
    for stream in QueueKeys.readOrder { command.append(streams[stream]) }
    for stream in QueueKeys.readOrder { command.append(lastEntries[stream]) }
    let arrived: StreamReading
    do {
      arrived = try await reader.connection.send(command) { reply throws(RedisError) in
        StreamReading(reply, queue: queue, streams: streams, incarnation: incarnation)
      }
    } catch {
      if error.serverPrefix == "NOGROUP" {
        // Without a group there are no claims; the next read notices and rejoins.
        mayHaveMissed = false
        return nil
      }
      if error.code != .server || error.meansAnotherServer {
        await drop(reader)
        client.note(error, from: reader.connection)
        if error.code == .closed { return [] }
      }
      // Any other error is inconclusive: the next claim checks again for missed claims.
      return try await nothing(becauseOf: error, block)
    }
    let missed = jobs(of: arrived)
    if incarnation != self.incarnation {
      try await release(missed)
      return []
    }
    note(arrived)
    if arrived.last.allSatisfy({ $0 == nil }) { mayHaveMissed = false }
    return missed.isEmpty ? nil : missed
  }

  /// The result of a refused claim. While a cluster moves the queue from one master to another, there is nothing to
  /// claim and no error: the claim waits a moment, and the next one finds the queue at its new place.
  private func nothing(becauseOf error: RedisError, _ block: Int64) async throws -> [Claim] {
    guard error.meansKeysMove else { throw RedisBroker.error(error) }
    try await Task.sleep(for: .milliseconds(min(block, 50)))
    return []
  }

  private func note(_ arrived: StreamReading) {
    for (index, last) in arrived.last.enumerated() {
      if let last { lastEntries[index] = last }
    }
    claimSize.note(arrived)
  }

  private func jobs(of arrived: StreamReading) -> [Claim] {
    arrived.claims.compactMap { claim -> Claim? in
      switch claim {
      case .success(let claim): return claim
      case .failure(let error):
        // Left pending, so that it is neither lost nor run: an operator has to check it.
        logger.error("an entry of the queue is not a job", metadata: [LogKeys.error: "\(error)"])
        return nil
      }
    }
  }

  public func stopClaiming() async {
    isInterrupted = true
    await wakeClaim()
  }

  public func wakeClaim() async {
    guard isClaiming, let reader else { return }
    do {
      try await client.unblock(reader.connection, clientID: reader.clientID)
    } catch {
      // The wait ends soon without it.
    }
  }

  private func currentReader() async throws -> Reader {
    if let reader { return reader }
    do throws(RedisError) {
      let connection = try await client.dedicatedConnection(for: keys.timers, commandTimeout: lease + .seconds(5))
      let id = try await connection.send(RedisCommand("CLIENT", "ID")).int ?? 0
      let made = Reader(connection: connection, clientID: id)
      reader = made
      return made
    } catch {
      throw RedisBroker.error(error)
    }
  }

  private func drop(_ dropped: Reader) async {
    // A new reader may have been made meanwhile.
    if reader?.connection === dropped.connection { reader = nil }
    await dropped.connection.close()
  }

  // MARK: Settling

  public func acknowledge(_ claims: [Claim]) async throws {
    var rest = claims[...]
    while !rest.isEmpty {
      let batch = rest.prefix(1000)
      rest = rest.dropFirst(1000)
      var entries: [[Substring]] = Array(repeating: [], count: keys.streams.count)
      var durable: [[UInt8]] = []
      for claim in batch {
        let (stream, entry) = Self.place(claim)
        entries[stream - 1].append(entry)
        if claim.record.isDurable { durable.append(claim.record.id.bytes) }
      }
      var arguments: [any RedisArgument] = []
      arguments.reserveCapacity(3 + batch.count + durable.count)
      for stream in entries {
        arguments.append(stream.count)
        for entry in stream { arguments.append(entry) }
      }
      for id in durable { arguments.append(id) }
      try await evaluate(Scripts.acknowledge, arguments)
    }
  }

  public func retry(_ retries: [ClaimRetry]) async throws {
    for (incarnation, group) in Dictionary(grouping: retries, by: \.claim.incarnation) {
      for batch in group.map(\.record)[...].batches(of: RedisBroker.scriptBatch) {
        var arguments: [any RedisArgument] = [name(of: incarnation)]
        for retry in group[batch.indices] {
          let (stream, entry) = Self.place(retry.claim)
          arguments.append(stream)
          arguments.append(entry)
          arguments.append(retry.delay.wholeMilliseconds)
          arguments.append(try RecordCoding.encode(retry.record))
        }
        try await evaluate(Scripts.retry, arguments)
      }
    }
  }

  public func release(_ claims: [Claim]) async throws {
    for (incarnation, group) in Dictionary(grouping: claims, by: \.incarnation) {
      try await release(group.map(\.receipt), of: incarnation)
    }
  }

  public func releaseUnreceived(_ receipts: [String]) async throws { try await release(receipts, of: incarnation) }

  private func release(_ receipts: [String], of incarnation: Int) async throws {
    for batch in batches(of: receipts[...], incarnation) { try await evaluate(Scripts.release, batch.arguments) }
  }

  public func begin(_ claims: [Claim]) async throws -> Set<String> {
    var own: Set<String> = []
    for (incarnation, group) in Dictionary(grouping: claims, by: \.incarnation) {
      for batch in batches(of: group.map(\.receipt)[...], incarnation) {
        let answers = try await evaluate(Scripts.begin, batch.arguments) { reply throws(RedisError) in
          (0..<reply.count).map { reply[$0].integer == 1 }
        }
        for (receipt, isOwn) in zip(batch.receipts, answers) where isOwn { own.insert(receipt) }
      }
    }
    return own
  }

  /// Receipts in batches, each with a script's arguments: the consumer, then pairs of stream number and entry.
  private func batches(
    of receipts: ArraySlice<String>, _ incarnation: Int
  ) -> [(receipts: ArraySlice<String>, arguments: [any RedisArgument])] {
    stride(from: receipts.startIndex, to: receipts.endIndex, by: RedisBroker.scriptBatch).map { start in
      let batch = receipts[start..<min(start + RedisBroker.scriptBatch, receipts.endIndex)]
      var arguments: [any RedisArgument] = [name(of: incarnation)]
      for receipt in batch {
        let (stream, entry) = Self.place(receipt)
        arguments.append(stream)
        arguments.append(entry)
      }
      return (batch, arguments)
    }
  }

  private static func place(_ claim: Claim) -> (stream: Int, entry: Substring) { place(claim.receipt) }

  /// A receipt is the stream's number, 1 to 6, followed by the entry.
  private static func place(_ receipt: String) -> (stream: Int, entry: Substring) {
    (Int(receipt.utf8.first ?? 0) - 48, receipt.dropFirst())
  }

  // MARK: Lease

  public func heartbeat(listingHeld lists: Bool) async throws -> Heartbeat {
    beats += 1
    let life = incarnation
    let lookahead = max(1, (lease / 3).wholeMilliseconds)
    // Comparing the epoch checks which server has the lease, but costs commands. While this client's connections stay
    // the same, so does the process behind them. A promoted replica, a restarted server and a slot's new master are
    // reached through a newer connection or route, and the generation is read before the heartbeat is sent: if a
    // heartbeat goes to another server than the one before it, it has a newer number, or the next one does, and that
    // one compares. Until then the lease may be renewed on a server that lacks the last writes: jobs lost there stay
    // with this consumer for one heartbeat longer. A server that becomes a replica and a master again under an open
    // connection is found by the next scheduled comparison, one heartbeat in twenty. A broker that forgot everything
    // needs no comparison: the lease is gone with it.
    let routes = client.routeGeneration
    let known = beats % 20 == 1 || routes != confirmedRoutes ? epoch : ""
    let (kept, reaped, due, held) = try await evaluate(
      Scripts.heartbeat, [name, lease.wholeMilliseconds, lookahead, lists ? 1 : 0, known]
    ) { reply throws(RedisError) -> (Bool, Int, Int64, [String]) in
      guard reply.count == 4 else { return (false, 0, -1, []) }
      let held = reply[3]
      return (
        true, Int(reply[1].integer), reply[2].integer, (0..<held.count).compactMap { held[$0].text }
      )
    }
    if kept, !known.isEmpty, life == incarnation { confirmedRoutes = routes }
    if kept || life != incarnation {
      return Heartbeat(
        keptLease: kept, incarnation: incarnation, nextDue: due >= 0 ? .milliseconds(due) : nil, reaped: reaped,
        held: life == incarnation ? held : [])
    }
    try await joinAnew()
    return Heartbeat(keptLease: false, incarnation: incarnation)
  }

  /// Starts a new incarnation after the broker lost the consumer, declared it dead, or failed over to a server that may
  /// lack the last writes: jobs that this consumer settled may still be claimed by it there. Those claims keep the old
  /// name, expire with its lease and are redelivered, and the ledger knows which of them are done.
  private func joinAnew() async throws {
    incarnation += 1
    lastEntries = Self.noEntries
    mayHaveMissed = false
    let before = epoch
    try await join()
    guard let reader else { return }
    if epoch != before {
      // It may be connected to a server that no longer has the queue.
      await drop(reader)
    } else if isClaiming {
      // The waiting read uses the old name: end it, so that the next one uses the new name.
      do {
        try await client.unblock(reader.connection, clientID: reader.clientID)
      } catch {
        // The read ends by itself within half a lease, and its claims are handed back.
      }
    }
  }

  public func leave() async throws {
    if let reader { await drop(reader) }
    while true {
      let isMoreLeft = try await evaluate(Scripts.leave, [name]) { reply throws(RedisError) in reply.integer == 1 }
      if !isMoreLeft { return }
    }
  }

  private func evaluate(_ script: RedisScript, _ arguments: [any RedisArgument]) async throws {
    try await evaluate(script, arguments) { _ throws(RedisError) in }
  }

  private func evaluate<Output: Sendable>(
    _ script: RedisScript, _ arguments: [any RedisArgument],
    _ decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws -> Output {
    do throws(RedisError) {
      return try await client.evaluate(script, keys: keys.all, arguments: arguments, decode: decode)
    } catch {
      throw RedisBroker.error(error)
    }
  }
}

extension Duration {
  var wholeMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
