import Foundation

/// The account's news, as it happens.
///
/// Iterating opens the stream and keeps it open: a lost connection is opened again, from the last event on, with
/// growing and random delays. The sequence ends when its task is cancelled. It throws when the server refuses the
/// account, as after the end of the session. The server is read only as fast as events are taken.
///
/// ```swift
/// for try await event in client.events.stream() {
///   switch event.kind {
///   case .connected(let resumed): if !resumed { await reload() }
///   case .message(let message): show(message)
///   default: break
///   }
/// }
/// ```
public struct EventStream: AsyncSequence, Sendable {
  public typealias Element = StreamEvent

  let sender: RequestSender
  let posts: [Int]
  let lastID: String?

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: self) }

  public struct AsyncIterator: AsyncIteratorProtocol {
    /// The server sends a comment every 15 seconds; a connection that is silent for longer than this is lost.
    private static let patience = Duration.seconds(45)
    private static let longestDelay = Duration.seconds(60)

    private let stream: EventStream
    private var parser: EventParser
    private var chunks: ByteStream.AsyncIterator?
    private var pending: [StreamEvent] = []
    private var hasBeenOpen = false
    /// Failed attempts since the last one that brought something.
    private var failures = 0

    init(stream: EventStream) {
      self.stream = stream
      parser = EventParser(lastID: stream.lastID)
    }

    public mutating func next() async throws -> StreamEvent? {
      do {
        while true {
          if Task.isCancelled { return nil }
          if !pending.isEmpty { return pending.removeFirst() }
          if let event = try await advance() { return event }
        }
      } catch {
        if error is CancellationError || Task.isCancelled { return nil }
        throw error
      }
    }

    /// One step: opens a connection, or reads a chunk from it. Events are left in `pending`.
    ///
    /// - Returns: the event of an opened connection.
    private mutating func advance() async throws -> StreamEvent? {
      guard var open = chunks else { return try await connect() }
      do {
        if let chunk = try await open.next() {
          chunks = open
          pending = try parser.feed(chunk).map(StreamEvent.init)
          failures = 0
          return nil
        }
      } catch let error as FanmillError {
        throw error
      } catch {
        try Task.checkCancellation()
      }
      chunks = nil
      try await pause()
      return nil
    }

    private mutating func connect() async throws -> StreamEvent? {
      let resumes = parser.lastID != nil
      // What a lost connection has left behind of an event is not the beginning of the next one.
      let retry = parser.retry
      parser = EventParser(lastID: parser.lastID, retry: retry)
      let refusal: FanmillError
      do {
        let connection = try await stream.sender.transport.stream(try request())
        if connection.head.status == 200 {
          chunks = connection.body.makeAsyncIterator()
          defer { hasBeenOpen = true }
          return StreamEvent(id: parser.lastID, .connected(resumed: resumes))
        }
        refusal = FanmillError(try await connection.collect(upTo: 1 << 16))
      } catch let error as FanmillError {
        throw error
      } catch {
        try Task.checkCancellation()
        if error is CancellationError { throw error }
        // A stream that was never open reports why; one that was goes on trying.
        try await pause(after: FanmillError.network(error))
        return nil
      }
      guard [429, 500, 502, 503, 504].contains(refusal.status) else { throw refusal }
      try await pause(after: refusal)
      return nil
    }

    private func request() throws -> TransportRequest {
      let posts = stream.posts.isEmpty ? nil : stream.posts.map(String.init).joined(separator: ",")
      var request = try stream.sender.prepare(APIRequest(.get, ["events"], query: [("posts", posts)]))
      request.headers["Accept"] = "text/event-stream"
      request.headers["Last-Event-ID"] = parser.lastID
      request.timeout = Self.patience
      return request
    }

    /// Waits before the next connection.
    ///
    /// - Throws: the refusal, if the stream was never open, and has failed as often as a request may or would wait
    ///   longer than one.
    private mutating func pause(after refusal: FanmillError? = nil) async throws {
      failures += 1
      let retries = stream.sender.retries
      if let refusal, !hasBeenOpen,
        failures >= retries.attempts || (refusal.retryAfter ?? .zero) > retries.longestDelay
      {
        throw refusal
      }
      let usual = parser.retry ?? .seconds(3)
      let delay = RetryPolicy.backoff(failures, from: usual, upTo: Self.longestDelay)
      try await stream.sender.clock.sleep(for: Swift.max(delay, refusal?.retryAfter ?? .zero))
    }
  }
}

extension FanmillClient {
  public var events: Events { Events(sender: sender) }

  /// `events`: one stream of everything new.
  public struct Events: Sendable {
    let sender: RequestSender

    /// The stream of the account's events.
    ///
    /// - Parameters:
    ///   - posts: up to twenty posts whose comments and counts are wanted too, such as the one on the screen.
    ///   - id: the id of the last event of an earlier stream, to continue after it; nil for what is new from now on.
    ///     Thread events are kept for a day; after that ``StreamEvent/Kind/reset`` comes. To open other posts, pass the
    ///     last id from before their comments were read.
    /// - Returns: a stream that throws `not_signed_in`, `invalid_posts`, and `too_many_streams` beyond five per account.
    public func stream(posts: [Post.ID] = [], after id: String? = nil) -> EventStream {
      EventStream(sender: sender, posts: posts, lastID: id)
    }
  }
}
