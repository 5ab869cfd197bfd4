import DurableJobsAdmin
import LibPQClient
import Locking
import Logging
import ServiceLifecycle
import Social

/// Tells clients that listen what is new for them: looks each second for all of them at once, and not at all while
/// nobody listens.
///
/// `run()` serves until a graceful shutdown, which ends every stream; clients then connect to another process and go on
/// from the last event that they heard.
public final class EventHub: Service {
  /// How many streams an account has open at most, and a process.
  static let perAccount = 5
  static let perProcess = 10_000

  /// How many looks' news wait for a client to read what came before; each is at most `EventFeed.maxCount` items of a
  /// kind.
  static let perStream = 8

  /// What goes to one client.
  enum Event: Sendable {
    case news([EventFeedItem], EventFeedCursor)
    /// Nothing but a sign of life: it finds out whether the client is still there.
    case silence
  }

  private struct Stream: Sendable {
    var listener: EventFeed.Listener
    let token: SessionToken
    let continuation: AsyncStream<Event>.Continuation
  }

  private struct State: Sendable {
    var streams: [Int: Stream] = [:]
    var nextID = 0
    var isClosed = false
  }

  private let pool: PostgresPool
  private let interval: Duration
  private let logger: Logger
  /// With a client that does not read.
  let patience: WriteTimeout
  private let state = Locked(State())

  /// - Parameters:
  ///   - interval: between two looks.
  ///   - patience: with a client that does not read what it is sent.
  public init(
    pool: PostgresPool, interval: Duration = .seconds(1), patience: WriteTimeout = WriteTimeout(.seconds(20)),
    logger: Logger
  ) {
    self.patience = patience
    self.pool = pool
    self.interval = interval
    self.logger = logger
  }

  // MARK: Streams

  /// Begins to listen.
  ///
  /// - Parameter cursor: from where on.
  /// - Returns: the stream and the number to `leave` by.
  /// - Throws: `too_many_streams`, `busy`.
  func listen(
    _ viewer: Sessions.Viewer, _ token: SessionToken, from cursor: EventFeedCursor
  ) throws(SocialError) -> (events: AsyncStream<Event>, id: Int) {
    // A client that does not read is left at this, and goes on from where it was when it comes again.
    let (events, continuation) = AsyncStream.makeStream(
      of: Event.self, bufferingPolicy: .bufferingOldest(Self.perStream))
    let id = try state.withLock { state throws(SocialError) in
      if state.isClosed || state.streams.count >= Self.perProcess {
        throw SocialError(.busy, "this server has no room for another listener now")
      }
      guard state.streams.values.count(where: { $0.listener.account == viewer.id }) < Self.perAccount else {
        throw SocialError(
          .tooManyStreams, "an account listens from \(Self.perAccount) places at most: close one of them",
          retryAfter: 60)
      }
      state.nextID += 1
      state.streams[state.nextID] = Stream(
        listener: EventFeed.Listener(account: viewer.id, cursor: cursor), token: token, continuation: continuation)
      return state.nextID
    }
    return (events, id)
  }

  /// How many streams are open.
  var count: Int { state.withLock { $0.streams.count } }

  func leave(_ id: Int) {
    let stream = state.withLock { $0.streams.removeValue(forKey: id) }
    stream?.continuation.finish()
  }

  // MARK: Looking

  public func run() async throws {
    await cancelWhenGracefulShutdown { [self] in
      var ticks = 0
      while !Task.isCancelled {
        do { try await Task.sleep(for: interval) } catch { break }
        ticks += 1
        do {
          try await tell()
          if ticks % 15 == 0 {
            try await endSessions()
            for stream in state.withLock({ Array($0.streams.values) }) { stream.continuation.yield(.silence) }
          }
        } catch {
          if Task.isCancelled { break }
          // The cursors stand still, so nothing is missed.
          logger.warning("listeners wait for their news", metadata: ["error": "\(error)"])
        }
      }
    }
    let streams = state.withLock { state in
      state.isClosed = true
      defer { state.streams = [:] }
      return Array(state.streams.values)
    }
    for stream in streams { stream.continuation.finish() }
  }

  private func tell() async throws {
    let streams = state.withLock { $0.streams.map { (id: $0.key, listener: $0.value.listener) } }
    if streams.isEmpty { return }
    var listeners = streams.map(\.listener)
    let news = try await EventFeed.next(for: &listeners, in: pool)
    let cursors = zip(streams, listeners).map { (id: $0.id, cursor: $1.cursor) }
    state.withLock { state in
      for (id, cursor) in cursors { state.streams[id]?.listener.cursor = cursor }
    }
    for (place, items) in news {
      let (id, cursor) = cursors[place]
      let continuation = state.withLock { $0.streams[id]?.continuation }
      if case .dropped = continuation?.yield(.news(items, cursor)) { leave(id) }
    }
  }

  /// Ends the streams of those who signed out meanwhile.
  private func endSessions() async throws {
    let streams = state.withLock { $0.streams.map { (id: $0.key, token: $0.value.token) } }
    if streams.isEmpty { return }
    let valid = try await Sessions.valid(streams.map(\.token), in: pool)
    for stream in streams where !valid.contains(stream.token) { leave(stream.id) }
  }
}
