#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Locking
import Social

/// The open event streams of a process: who listens to what, how far each has got, and which reads are pending.
final class EventStreams: Sendable {
  /// The maximum number per account, and per process.
  static let perAccount = 5
  static let perProcess = 20_000

  struct Stream: Sendable {
    fileprivate(set) var listener: EventFeed.Listener
    /// The cursor of the last event sent. A stalled client is sent nothing, and resumes from here once it reads again.
    fileprivate(set) var sent: EventFeedCursor
    /// Whether sending is paused: before the response has begun, and while the client does not read.
    fileprivate(set) var isStalled = true
    fileprivate(set) var hasBegun = false
    /// Whether it has got every live event up to `State.position`.
    fileprivate var isCurrent = false
    fileprivate(set) var posts: [Int]
    let token: SessionToken
    let sessionEnd: Date
    let client: EventClient
  }

  /// The reads that are pending.
  struct Reads: Sendable {
    /// Streams that have just begun, or that need everything read again.
    var streams: Set<Int> = []
    var notifications: Set<Int> = []
    var messages: Set<Int> = []
    var sessions: Set<Int> = []
    var counts: Set<Int> = []
    var removals: Set<Int> = []
    var restrictions: Set<Int> = []
    /// Streams to be told their positions.
    var positions: Set<Int> = []
    var hasLive = false

    var isEmpty: Bool {
      streams.isEmpty && notifications.isEmpty && messages.isEmpty && sessions.isEmpty && counts.isEmpty
        && removals.isEmpty && restrictions.isEmpty && positions.isEmpty && !hasLive
    }
  }

  private struct State: Sendable {
    var streams: [Int: Stream] = [:]
    /// Stream ids by account, and by post.
    var ofAccount: [Int: Set<Int>] = [:]
    var ofPost: [Int: Set<Int>] = [:]
    var nextID = 0
    var isClosed = false
    var reads = Reads()
    /// The time at which each post's counts were last sent.
    var countedAt: [Int: ContinuousClock.Instant] = [:]
    /// The position in `live_events` that all current streams have reached.
    var position = 0

    /// The stream with its cursors. Those of current streams move together, by `position` alone.
    func moved(_ stream: Stream) -> Stream {
      guard stream.isCurrent else { return stream }
      var stream = stream
      stream.listener.cursor.live = max(stream.listener.cursor.live, position)
      stream.sent.live = max(stream.sent.live, position)
      return stream
    }
  }

  private let state = Locked(State())
  private let signal: AsyncStream<Void>.Continuation
  /// Yields when reads are pending.
  let signals: AsyncStream<Void>

  init() { (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  // MARK: Coming and going

  /// The number of open streams.
  var count: Int { state.withLock { $0.streams.count } }

  /// - Returns: the id of the stream, which sends nothing before `begin`.
  /// - Throws: `too_many_streams`, `busy`.
  func enter(
    _ viewer: Sessions.Viewer, _ token: SessionToken, from cursor: EventFeedCursor, posts: [Int],
    until sessionEnd: Date, to client: EventClient
  ) throws(SocialError) -> Int {
    try state.withLock { state throws(SocialError) in
      if state.isClosed || state.streams.count >= Self.perProcess {
        throw SocialError(.busy, "this server has no free event streams: try again later")
      }
      guard state.ofAccount[viewer.id]?.count ?? 0 < Self.perAccount else {
        throw SocialError(
          .tooManyStreams, "an account may have at most \(Self.perAccount) open event streams: close one",
          retryAfter: 60)
      }
      state.nextID += 1
      let id = state.nextID
      state.streams[id] = Stream(
        listener: EventFeed.Listener(account: viewer.id, cursor: cursor), sent: cursor, posts: posts, token: token,
        sessionEnd: sessionEnd, client: client)
      state.ofAccount[viewer.id, default: []].insert(id)
      for post in posts { state.ofPost[post, default: []].insert(id) }
      return id
    }
  }

  /// Starts sending, after the head of the response, with everything committed since the cursor was read.
  func begin(_ id: Int) {
    state.withLock { state in
      state.streams[id]?.hasBegun = true
      state.reads.streams.insert(id)
    }
    signal.yield()
  }

  func leave(_ id: Int) {
    let stream = state.withLock { state in
      guard let stream = state.streams.removeValue(forKey: id) else { return nil as Stream? }
      Self.take(id, out: stream.listener.account, of: &state.ofAccount)
      for post in stream.posts {
        Self.take(id, out: post, of: &state.ofPost)
        if state.ofPost[post] == nil { state.countedAt[post] = nil }
      }
      return stream
    }
    stream?.client.end()
  }

  /// Ends all streams, and admits no more.
  func close() {
    let streams = state.withLock { state in
      state.isClosed = true
      defer { (state.streams, state.ofAccount, state.ofPost) = ([:], [:], [:]) }
      return Array(state.streams.values)
    }
    for stream in streams {
      stream.client.end()
      // A client that does not read must not delay shutdown.
      if !stream.client.isReading { stream.client.hangUp() }
    }
  }

  /// A stream receives nothing more about a post.
  func remove(_ post: Int, from id: Int) {
    state.withLock { state in
      state.streams[id]?.posts.removeAll { $0 == post }
      Self.take(id, out: post, of: &state.ofPost)
    }
  }

  private static func take(_ id: Int, out key: Int, of index: inout [Int: Set<Int>]) {
    index[key]?.remove(id)
    if index[key]?.isEmpty == true { index[key] = nil }
  }

  // MARK: Pending reads

  /// Adds the reads for transactions' notifications.
  func note(_ topics: [LiveTopic]) {
    let isAny = state.withLock { state in
      for topic in topics {
        switch topic {
        case .thread(let post): if state.ofPost[post] != nil { state.reads.hasLive = true }
        case .counts(let post): if state.ofPost[post] != nil { state.reads.counts.insert(post) }
        case .gone(let post): if state.ofPost[post] != nil { state.reads.removals.insert(post) }
        case .notifications(let account):
          if state.ofAccount[account] != nil { state.reads.notifications.insert(account) }
        case .messages(let account): if state.ofAccount[account] != nil { state.reads.messages.insert(account) }
        case .sessions(let account): if state.ofAccount[account] != nil { state.reads.sessions.insert(account) }
        case .restrictions(let account):
          if state.ofAccount[account] != nil { state.reads.restrictions.insert(account) }
        case .hidden: state.reads.removals.formUnion(state.ofPost.keys)
        case .lookups: if !state.streams.isEmpty { state.reads.hasLive = true }
        }
      }
      return !state.reads.isEmpty
    }
    if isAny { signal.yield() }
  }

  /// Adds the remaining reads of accounts that had more than one read returns.
  func readOn(notifications: [Int] = [], messages: [Int] = []) {
    state.withLock { state in
      state.reads.notifications.formUnion(notifications)
      state.reads.messages.formUnion(messages)
    }
  }

  /// Adds a report of their positions to streams, and with `hasLive` a read that moves them.
  func readPositions(hasLive: Bool, of isDue: (Int) -> Bool) {
    let isAny = state.withLock { state in
      if state.streams.isEmpty { return false }
      state.reads.positions.formUnion(state.streams.keys.filter(isDue))
      if hasLive { state.reads.hasLive = true }
      return !state.reads.isEmpty
    }
    if isAny { signal.yield() }
  }

  /// Adds every read.
  func readAllAgain() {
    state.withLock { state in
      state.reads.streams.formUnion(state.streams.keys)
      state.reads.removals.formUnion(state.ofPost.keys)
      state.reads.hasLive = true
    }
    signal.yield()
  }

  /// Removes and returns the pending reads. The streams among them are no longer stalled.
  ///
  /// They go on from the last event sent: what was read while they were stalled has moved their cursors past events
  /// that they lack. Not before this call, since a read in progress would send them its later events alone.
  func takeReads() -> Reads {
    state.withLock { state in
      for id in state.reads.streams {
        guard let stream = state.streams[id], stream.hasBegun, stream.isStalled else { continue }
        state.streams[id]?.isStalled = false
        state.streams[id]?.listener.cursor = stream.sent
      }
      defer { state.reads = Reads() }
      return state.reads
    }
  }

  /// The posts whose counts may be sent now, which counts as sending them; the others stay pending.
  ///
  /// - Parameter pause: the minimum time between two counts of one post.
  /// - Returns: also the longest time that one of the others must wait.
  func takeDueCounts(_ posts: Set<Int>, pause: Duration) -> (due: Set<Int>, wait: Duration?) {
    let now = ContinuousClock.now
    return state.withLock { state in
      var due: Set<Int> = []
      var wait: Duration?
      for post in posts where state.ofPost[post] != nil {
        if let last = state.countedAt[post], last.duration(to: now) < pause {
          state.reads.counts.insert(post)
          wait = max(wait ?? .zero, pause - last.duration(to: now))
        } else {
          state.countedAt[post] = now
          due.insert(post)
        }
      }
      return (due, wait)
    }
  }

  /// Signals that reads are still pending.
  func wake() { signal.yield() }

  // MARK: Who listens

  /// The accounts and the posts that streams listen to.
  var topics: (accounts: [Int], posts: [Int]) { state.withLock { (Array($0.ofAccount.keys), Array($0.ofPost.keys)) } }

  func ids(of accounts: some Sequence<Int>) -> Set<Int> {
    state.withLock { state in accounts.reduce(into: []) { $0.formUnion(state.ofAccount[$1] ?? []) } }
  }

  func ids(on post: Int) -> Set<Int> { state.withLock { $0.ofPost[post] ?? [] } }

  func posts(of ids: Set<Int>) -> Set<Int> {
    state.withLock { state in ids.reduce(into: []) { $0.formUnion(state.streams[$1]?.posts ?? []) } }
  }

  /// The open ones among `ids`.
  func streams(_ ids: some Sequence<Int>) -> [(id: Int, stream: Stream)] {
    state.withLock { state in ids.compactMap { id in state.streams[id].map { (id, state.moved($0)) } } }
  }

  /// The streams for which `condition` holds.
  func streams(where condition: (Int, Stream) -> Bool) -> [(id: Int, stream: Stream)] {
    state.withLock { state in state.streams.filter { condition($0.key, $0.value) }.map { ($0.key, $0.value) } }
  }

  // MARK: Sending

  /// - Parameters:
  ///   - cursor: the position after this event; nil for an event without one.
  ///   - earlier: events that are sent with this one or not at all, because only this one moves the position past them.
  /// - Returns: whether it was sent, and not left out because the stream is paused.
  @discardableResult
  func send(_ text: String, _ cursor: EventFeedCursor?, after earlier: String = "", to id: Int) -> Bool {
    let client = state.withLock { state in
      state.streams[id].flatMap { $0.isStalled ? nil : $0.client }
    }
    guard let client else { return false }
    guard client.send(earlier + (cursor.map(EventText.id) ?? "") + text) else {
      stall(id)
      return false
    }
    if let cursor { state.withLock { $0.streams[id]?.sent = cursor } }
    return true
  }

  /// Pauses a stream whose client does not read.
  func stall(_ id: Int) {
    state.withLock { state in
      guard var stream = state.streams[id].map(state.moved) else { return }
      (stream.isStalled, stream.isCurrent) = (true, false)
      state.streams[id] = stream
    }
  }

  /// Goes on with a stream whose client reads again.
  func resume(_ id: Int) {
    state.withLock { _ = $0.reads.streams.insert(id) }
    signal.yield()
  }

  func setCursor(_ cursor: EventFeedCursor, of id: Int) {
    state.withLock { $0.streams[id]?.listener.cursor = cursor }
  }

  /// Moves a stream's cursor of live events forward.
  ///
  /// - Returns: whether the stream is open and not paused.
  @discardableResult
  func advance(_ id: Int, to live: Int) -> Bool {
    state.withLock { state in
      guard let stream = state.streams[id] else { return false }
      state.streams[id]?.listener.cursor.live = max(live, stream.listener.cursor.live)
      return !stream.isStalled
    }
  }

  /// Moves all current streams past the live events up to `position`, whether they got any of them or not, and makes
  /// those of `newcomers` current that are not paused.
  func pass(upTo position: Int, newcomers: Set<Int>) {
    state.withLock { state in
      state.position = max(state.position, position)
      for id in newcomers where state.streams[id]?.isStalled == false { state.streams[id]?.isCurrent = true }
    }
  }

  /// Moves the cursors of those among `ids` that still lack a live event past it.
  ///
  /// - Parameter mayReceive: whether an account may receive the event.
  /// - Returns: those to which it is to be sent.
  func pass(_ event: Int, to ids: [Int], if mayReceive: (Int) -> Bool) -> [(id: Int, cursor: EventFeedCursor)] {
    state.withLock { state in
      ids.compactMap { id in
        guard let stream = state.streams[id], stream.listener.cursor.live < event, !stream.isStalled else {
          return nil
        }
        state.streams[id]?.listener.cursor.live = event
        if !mayReceive(stream.listener.account) { return nil }
        var cursor = stream.listener.cursor
        cursor.live = event
        return (id, cursor)
      }
    }
  }
}
