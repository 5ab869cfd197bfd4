import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request of a `URLSession` and its response: the delegate's calls on one side, a task that awaits on the other.
///
/// With a limit, unread bytes are bounded. On Apple's platforms the URL session's task is suspended at the limit and
/// resumes once half of it is taken, so a slow consumer slows down the server. Elsewhere a suspended task loses its
/// connection and begins again when it resumes, and nothing else slows it down: the exchange ends with an error after
/// the bytes up to the limit, and an event stream reconnects from its last event.
final class Exchange: Sendable {
  /// The most unread bytes of a stream.
  static let streamLimit = 1 << 20

  private struct State {
    var head: TransportHead?
    var chunks: [Data] = []
    var unread = 0
    var isSuspended = false
    /// Set once, by the end of the response or by a failure.
    var end: Result<Void, any Error>?
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let task: URLSessionTask
  private let state = Locked(State())
  /// nil for a body that is wanted whole.
  private let limit: Int?
  private let progress: (@Sendable (UploadProgress) -> Void)?

  init(_ task: URLSessionTask, limit: Int? = nil, progress: (@Sendable (UploadProgress) -> Void)? = nil) {
    self.task = task
    self.limit = limit
    self.progress = progress
  }

  func start() { task.resume() }

  /// Ends the exchange; what has arrived but was not taken is dropped.
  func cancel() {
    end(.failure(CancellationError()), dropsChunks: true)
    task.cancel()
  }

  // MARK: The delegate's side

  func receive(_ head: TransportHead) { update { $0.head = head } }

  func receive(_ chunk: Data) {
    let overflows = update { state in
      guard state.end == nil else { return false }
      state.chunks.append(chunk)
      state.unread += chunk.count
      guard let limit, state.unread > limit, !state.isSuspended else { return false }
      #if canImport(FoundationNetworking)
        state.end = .failure(URLError(.dataLengthExceedsMaximum))
        return true
      #else
        // With the lock held: the consumer's `resume` must not overtake it.
        state.isSuspended = true
        task.suspend()
        return false
      #endif
    }
    if overflows { task.cancel() }
  }

  func receive(_ progress: UploadProgress) { self.progress?(progress) }

  func end(_ result: Result<Void, any Error>) { end(result, dropsChunks: false) }

  private func end(_ result: Result<Void, any Error>, dropsChunks: Bool) {
    update { state in
      if state.end == nil { state.end = result }
      if dropsChunks { (state.chunks, state.unread) = ([], 0) }
    }
  }

  /// Changes the state and wakes the waiting tasks, outside the lock.
  private func update<Value>(_ body: (inout State) -> Value) -> Value {
    let (value, waiters) = state.withLock { state in
      let value = body(&state)
      defer { state.waiters = [] }
      return (value, state.waiters)
    }
    for waiter in waiters { waiter.resume() }
    return value
  }

  // MARK: The consumer's side

  /// The beginning of the response.
  func head() async throws -> TransportHead {
    try await withTaskCancellationHandler {
      while true {
        let known = try state.withLock { state -> TransportHead? in
          if let head = state.head { return head }
          if let end = state.end {
            try end.get()
            throw URLError(.badServerResponse)
          }
          return nil
        }
        if let known { return known }
        await change { $0.head != nil || $0.end != nil }
      }
    } onCancel: {
      cancel()
    }
  }

  /// The next chunk; nil at the end.
  func next() async throws -> Data? {
    try await withTaskCancellationHandler {
      while true {
        let chunk = try state.withLock { state -> Data?? in
          guard !state.chunks.isEmpty else {
            guard let end = state.end else { return nil }
            try end.get()
            return .some(nil)
          }
          let chunk = state.chunks.removeFirst()
          state.unread -= chunk.count
          if state.isSuspended, state.unread <= (limit ?? 0) / 2 {
            state.isSuspended = false
            task.resume()
          }
          return chunk
        }
        if let chunk { return chunk }
        await change { !$0.chunks.isEmpty || $0.end != nil }
      }
    } onCancel: {
      cancel()
    }
  }

  /// Waits for a change of the state, unless `isDone` holds already.
  private func change(_ isDone: (State) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isKnown = state.withLock { state in
        if isDone(state) { return true }
        state.waiters.append(continuation)
        return false
      }
      if isKnown { continuation.resume() }
    }
  }
}

/// The body of an exchange. The connection ends with the last reference to it.
final class ExchangeBody: AsyncSequence, Sendable {
  typealias Element = Data

  private let exchange: Exchange

  init(_ exchange: Exchange) { self.exchange = exchange }

  deinit { exchange.cancel() }

  /// The beginning of the response.
  func head() async throws -> TransportHead { try await exchange.head() }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

  struct AsyncIterator: AsyncIteratorProtocol {
    let body: ExchangeBody

    mutating func next() async throws -> Data? { try await body.exchange.next() }
  }
}
