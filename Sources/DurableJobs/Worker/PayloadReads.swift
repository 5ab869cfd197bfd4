import DequeModule
import Locking

/// Reads payloads that stayed in the ledger, for one queue's jobs that are about to run. Requests that arrive during a
/// read go together into the next one, up to a batch of bytes.
final class PayloadReads<L: Ledger>: Sendable {
  private typealias Waiter = CheckedContinuation<[JobID: [UInt8]], any Error>
  private typealias Reader = CheckedContinuation<[Request]?, Never>

  private struct Request {
    let number: Int
    let ids: [JobID]
    let bytes: Int
  }

  private struct State {
    var requests: Deque<Request> = []
    /// By the numbers of their requests. The code that removes a waiter resumes it.
    var waiters: [Int: Waiter] = [:]
    var last = 0
    var reader: Reader?
    var isClosed = false
  }

  private let state = Locked(State())
  private let ledger: L
  private let queue: QueueName

  init(ledger: L, queue: QueueName) {
    self.ledger = ledger
    self.queue = queue
  }

  /// The payloads of those jobs that are pending.
  ///
  /// - Parameter records: at most a batch of bytes.
  /// - Throws: the ledger's error, or `CancellationError`.
  func read(_ records: [JobRecord]) async throws -> [JobID: [UInt8]] {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    let request = Request(
      number: number, ids: records.map(\.id), bytes: records.reduce(0) { $0 + $1.payloadSize })
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        let (isRefused, reader) = state.withLock { state -> (Bool, (Reader, [Request])?) in
          if state.isClosed || Task.isCancelled { return (true, nil) }
          state.waiters[number] = waiter
          state.requests.append(request)
          guard let reader = state.reader else { return (false, nil) }
          state.reader = nil
          return (false, (reader, Self.take(&state)))
        }
        if isRefused { waiter.resume(throwing: CancellationError()) }
        if let (reader, batch) = reader { reader.resume(returning: batch) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.requests.removeAll { $0.number == number }
        return state.waiters.removeValue(forKey: number)
      }
      waiter?.resume(throwing: CancellationError())
    }
  }

  /// The result of reading a claim's payload.
  enum Filled {
    /// With its payload.
    case claim(Claim)
    /// Its job no longer has a row: it is done.
    case done
    /// The ledger could not be read.
    case unread(any Error)
  }

  /// Reads the payloads of claims, in their order. Claims that have theirs pass through.
  func filled(_ claims: [Claim]) async -> [Filled] {
    let found: [JobID: [UInt8]]
    do {
      found = try await read(claims.map(\.record).filter { $0.payloadInLedger != nil })
    } catch {
      let unread = PayloadUnread(underlying: error)
      return claims.map { $0.record.payloadInLedger == nil ? .claim($0) : .unread(unread) }
    }
    return claims.map { claim in
      var record = claim.record
      if record.payloadInLedger == nil { return .claim(claim) }
      guard let payload = found[record.id] else { return .done }
      record.payload = payload
      return .claim(claim.with(record))
    }
  }

  /// The number of requests whose read has not begun.
  var waitingCount: Int { state.withLock { $0.requests.count } }

  /// Serves requests until `close`.
  func run() async {
    while let batch = await next() {
      do {
        let payloads = try await ledger.payloads(batch.flatMap(\.ids), queue: queue)
        for waiter in waiters(of: batch) { waiter.resume(returning: payloads) }
      } catch {
        for waiter in waiters(of: batch) { waiter.resume(throwing: error) }
      }
    }
  }

  /// Ends `run` once all requests are served.
  func close() {
    let reader = state.withLock { state in
      state.isClosed = true
      let reader = state.reader
      state.reader = nil
      return reader
    }
    reader?.resume(returning: nil)
  }

  private func next() async -> [Request]? {
    await withCheckedContinuation { reader in
      let (isDecided, batch) = state.withLock { state -> (Bool, [Request]?) in
        if !state.requests.isEmpty { return (true, Self.take(&state)) }
        if state.isClosed { return (true, nil) }
        state.reader = reader
        return (false, nil)
      }
      if isDecided { reader.resume(returning: batch) }
    }
  }

  private func waiters(of batch: [Request]) -> [Waiter] {
    state.withLock { state in batch.compactMap { state.waiters.removeValue(forKey: $0.number) } }
  }

  private static func take(_ state: inout State) -> [Request] {
    var batch: [Request] = []
    var bytes = 0
    while let request = state.requests.first {
      bytes += request.bytes
      if !batch.isEmpty, bytes > PayloadLimit.batch { break }
      batch.append(state.requests.removeFirst())
    }
    return batch
  }
}

/// The ledger could not be read just now; the job is not at fault.
struct PayloadUnread: JobHandback, CustomStringConvertible {
  let underlying: any Error
  var description: String { "the payload could not be read from the ledger: \(underlying)" }
}
