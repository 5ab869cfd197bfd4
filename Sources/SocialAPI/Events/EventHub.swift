#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import LibPQClient
import Locking
import Logging
import ServiceLifecycle
import Social

/// Pushes events to listening clients as soon as they are committed.
///
/// Transactions publish what may have changed (`LiveTopic`). The hub reads the changes for all listeners with a few
/// statements, however many streams are open, and sends no queries while idle. After losing its notification
/// connection, it reconnects and reads everything again.
///
/// `run()` serves until a graceful shutdown, which ends every stream; clients then reconnect to another process and
/// resume from the last event they received.
public final class EventHub: Service {
  /// The maximum number of open streams per account, and per process.
  static let perAccount = 5
  static let perProcess = 20_000

  /// The interval between keep-alives, in seconds.
  private static let silence = 15

  private struct Stream: Sendable {
    var listener: EventFeed.Listener
    /// The cursor of the last event sent. A stalled client is sent nothing, and resumes from here once it reads again.
    var sent: EventFeedCursor
    /// Whether sending is paused: before the response has begun, and while the client does not read.
    var isStalled = true
    var hasBegun = false
    var posts: [Int]
    let token: SessionToken
    let sessionEnd: Date
    let client: EventClient
  }

  /// The reads that are pending.
  private struct Work: Sendable {
    /// Streams that have just begun, or that need everything read again.
    var streams: Set<Int> = []
    var notifications: Set<Int> = []
    var messages: Set<Int> = []
    var sessions: Set<Int> = []
    var counts: Set<Int> = []
    var gone: Set<Int> = []
    var restrictions: Set<Int> = []
    var hasLive = false

    var isEmpty: Bool {
      streams.isEmpty && notifications.isEmpty && messages.isEmpty && sessions.isEmpty && counts.isEmpty
        && gone.isEmpty && restrictions.isEmpty && !hasLive
    }
  }

  private struct State: Sendable {
    var streams: [Int: Stream] = [:]
    /// Stream ids by account, and by post.
    var ofAccount: [Int: Set<Int>] = [:]
    var ofPost: [Int: Set<Int>] = [:]
    var nextID = 0
    var isClosed = false
    var work = Work()
    /// The time at which each post's counts were last sent.
    var countedAt: [Int: ContinuousClock.Instant] = [:]
  }

  private let pool: PostgresPool
  private let logger: Logger
  private let countPause: Duration
  private let patience: Duration
  private let state = Locked(State())
  private let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  /// - Parameters:
  ///   - countPause: the minimum time between two counts of one post.
  ///   - patience: how long a client may leave sent data unread.
  public init(
    pool: PostgresPool, countPause: Duration = .milliseconds(500),
    patience: Duration = .seconds(20), logger: Logger
  ) {
    self.patience = patience
    self.pool = pool
    self.countPause = countPause
    self.logger = logger
  }

  // MARK: Streams

  /// Reserves a place for a listener; `begin` must follow.
  ///
  /// - Parameters:
  ///   - cursor: the position to resume from.
  ///   - posts: the posts whose threads the client has open.
  ///   - sessionEnd: when the stream ends.
  ///   - client: the connection to write to until the stream ends.
  /// - Returns: the id to pass to `begin` and `leave`.
  /// - Throws: `too_many_streams`, `busy`.
  func listen(
    _ viewer: Sessions.Viewer, _ token: SessionToken, from cursor: EventFeedCursor, posts: [Int],
    until sessionEnd: Date,
    to client: EventClient
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

  /// Starts sending, after the head of the response.
  func begin(_ id: Int) {
    state.withLock { state in
      state.streams[id]?.hasBegun = true
      state.streams[id]?.isStalled = false
      // Pick up everything committed since the cursor was read.
      state.work.streams.insert(id)
    }
    signal.yield()
  }

  /// The number of open streams.
  var count: Int { state.withLock { $0.streams.count } }

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

  private static func take(_ id: Int, out key: Int, of index: inout [Int: Set<Int>]) {
    index[key]?.remove(id)
    if index[key]?.isEmpty == true { index[key] = nil }
  }

  // MARK: Running

  public func run() async throws {
    await cancelWhenGracefulShutdown { [self] in
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.hear() }
        group.addTask { await self.beat() }
        group.addTask { await self.poll() }
      }
    }
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

  /// Receives the transactions' notifications on a dedicated connection.
  private func hear() async {
    while !Task.isCancelled {
      do {
        let connection = try await pool.dedicatedConnection()
        do {
          let notifications = try await connection.listen(LiveTopic.channel)
          // Notifications sent while disconnected are lost.
          state.withLock { Self.readAllAgain(&$0) }
          signal.yield()
          for await notification in notifications { note(LiveTopic.all(in: notification.payload)) }
        } catch {
          await connection.close()
          throw error
        }
        await connection.close()
      } catch {
        logger.warning("lost the connection for events", metadata: ["error": "\(error)"])
      }
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  private static func readAllAgain(_ state: inout State) {
    state.work.streams.formUnion(state.streams.keys)
    state.work.gone.formUnion(state.ofPost.keys)
    state.work.hasLive = true
  }

  private func note(_ topics: [LiveTopic]) {
    let isAny = state.withLock { state in
      for topic in topics {
        switch topic {
        case .thread(let post): if state.ofPost[post] != nil { state.work.hasLive = true }
        case .counts(let post): if state.ofPost[post] != nil { state.work.counts.insert(post) }
        case .gone(let post): if state.ofPost[post] != nil { state.work.gone.insert(post) }
        case .notifications(let account):
          if state.ofAccount[account] != nil { state.work.notifications.insert(account) }
        case .messages(let account): if state.ofAccount[account] != nil { state.work.messages.insert(account) }
        case .sessions(let account): if state.ofAccount[account] != nil { state.work.sessions.insert(account) }
        case .restrictions(let account):
          if state.ofAccount[account] != nil { state.work.restrictions.insert(account) }
        case .hidden: state.work.gone.formUnion(state.ofPost.keys)
        case .lookups: if !state.streams.isEmpty { state.work.hasLive = true }
        }
      }
      return !state.work.isEmpty
    }
    if isAny { signal.yield() }
  }

  /// Sends keep-alives, ends the streams of expired sessions, and cuts off clients that do not read. Each second covers
  /// a fifteenth of the streams, to spread the writes.
  private func beat() async {
    var tick = 0
    var polled = ContinuousClock.now
    while true {
      do { try await Task.sleep(for: min(.seconds(1), patience / 2)) } catch { return }
      attendStalled()
      if polled.duration(to: .now) < .seconds(1) { continue }
      polled = .now
      tick += 1
      let now = Date.now
      let due = state.withLock { state in
        state.streams.filter { $0.key % Self.silence == tick % Self.silence }.map {
          (
            id: $0.key, client: $0.value.client, hasEnded: $0.value.sessionEnd <= now, hasBegun: $0.value.hasBegun
          )
        }
      }
      for stream in due {
        if stream.hasEnded {
          leave(stream.id)
        } else if stream.hasBegun, !stream.client.send(EventText.silence) {
          stall(stream.id)
        }
      }
    }
  }

  private func stall(_ id: Int) {
    state.withLock { state in
      guard let stream = state.streams[id] else { return }
      state.streams[id]?.isStalled = true
      state.streams[id]?.listener.cursor = stream.sent
    }
  }

  /// Resumes stalled clients that read again, and cuts off those that still do not.
  private func attendStalled() {
    let stalled = state.withLock { $0.streams.filter { $0.value.isStalled && $0.value.hasBegun } }
    for (id, stream) in stalled {
      if stream.client.isReading {
        state.withLock { state in
          state.streams[id]?.isStalled = false
          state.work.streams.insert(id)
        }
        signal.yield()
      } else if stream.client.isBehind(by: patience) {
        stream.client.hangUp()
        leave(id)
      }
    }
  }

  // MARK: Reading and sending

  private func poll() async {
    /// The position in `live_events` up to which all listeners have been served.
    var position: Int?
    for await _ in signals {
      while true {
        let work = state.withLock { state in
          defer { state.work = Work() }
          return state.work
        }
        if work.isEmpty || Task.isCancelled { break }
        do {
          try await poll(work, &position)
        } catch {
          if Task.isCancelled { return }
          // The cursors have not moved, so nothing is missed.
          logger.warning("reading events failed; retrying", metadata: ["error": "\(error)"])
          state.withLock { Self.readAllAgain(&$0) }
          do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
      }
    }
  }

  private func poll(_ work: Work, _ position: inout Int?) async throws {
    let known: Int
    if let position { known = position } else { known = try await EventFeed.position(in: pool) }
    position = known
    try await tell(work.streams, of: .all)
    try await catchUp(work.streams, to: known)
    try await tell(streams(of: work.notifications).subtracting(work.streams), of: .notifications)
    try await tell(streams(of: work.messages).subtracting(work.streams), of: .messages)
    if work.hasLive { position = try await tellLive(after: known) }
    try await tellCounts(work.counts, newcomers: work.streams)
    try await tellGone(work.gone)
    for account in work.restrictions { try await tellRestricted(account) }
    if !work.sessions.isEmpty { try await endSessions(of: work.sessions) }
  }

  private func streams(of accounts: Set<Int>) -> Set<Int> {
    state.withLock { state in accounts.reduce(into: []) { $0.formUnion(state.ofAccount[$1] ?? []) } }
  }

  private enum Kind {
    case all
    case notifications
    case messages
  }

  /// The number of streams that one statement reads for.
  private static let batch = 500

  /// Sends accounts their own notifications and messages.
  private func tell(_ ids: Set<Int>, of kind: Kind) async throws {
    var left = Array(ids)
    while !left.isEmpty {
      let batch = Array(left.suffix(Self.batch))
      left.removeLast(batch.count)
      let known = state.withLock { state in
        batch.compactMap { id in state.streams[id].map { (id: id, stream: $0) } }.filter { !$0.stream.isStalled }
          .map { (id: $0.id, listener: $0.stream.listener) }
      }
      var listeners = known.map(\.listener)
      var unfinished: Set<Int> = []
      if kind != .messages {
        let news = try await EventFeed.notifications(for: &listeners, in: pool)
        try deliver(news, to: known.map(\.id), listeners)
        unfinished.formUnion(news.unfinished)
      }
      if kind != .notifications {
        let news = try await EventFeed.messages(for: &listeners, in: pool)
        try deliver(news, to: known.map(\.id), listeners)
        unfinished.formUnion(news.unfinished)
      }
      left += unfinished.map { known[$0].id }
    }
  }

  private func deliver(_ news: EventFeed.News, to ids: [Int], _ listeners: [EventFeed.Listener]) throws {
    state.withLock { state in
      for (place, id) in ids.enumerated() { state.streams[id]?.listener.cursor = listeners[place].cursor }
    }
    for (place, items) in news.items {
      for entry in items { send(try EventText.text(of: entry.item), entry.cursor, to: ids[place]) }
    }
  }

  /// - Parameter cursor: the position after this event; nil for an event without one.
  private func send(_ text: String, _ cursor: EventFeedCursor?, to id: Int) {
    let client = state.withLock { state in
      state.streams[id].flatMap { $0.isStalled ? nil : $0.client }
    }
    guard let client else { return }
    if client.send(cursor.map { EventText.id($0) + text } ?? text) {
      if let cursor { state.withLock { $0.streams[id]?.sent = cursor } }
    } else {
      stall(id)
    }
  }

  /// Sends returning streams what they missed in their threads and lookups, up to `position` or further; `tellLive`
  /// continues from there.
  private func catchUp(_ ids: Set<Int>, to position: Int) async throws {
    let late = state.withLock { state in
      ids.compactMap { id in state.streams[id].map { (id: id, stream: $0) } }
        .filter { $0.stream.listener.cursor.live < position && !$0.stream.isStalled }
    }
    for (id, stream) in late {
      var cursor = stream.listener.cursor
      while true {
        let found = try await EventFeed.live(
          after: cursor.live, posts: stream.posts, lookedUpBy: stream.listener.account, in: pool)
        if cursor.live < found.floor {
          cursor.live = found.position
          advance(id, to: cursor.live)
          send(try EventText.text(of: .reset), cursor, to: id)
          break
        }
        try await deliver(found.rows) { _ in [id] }
        cursor.live = found.position
        advance(id, to: cursor.live)
        if !found.isMoreLeft { break }
      }
    }
  }

  private func advance(_ id: Int, to live: Int) {
    state.withLock { state in
      if let stream = state.streams[id], stream.listener.cursor.live < live {
        state.streams[id]?.listener.cursor.live = live
      }
    }
  }

  /// Sends everything that happened after `position` to the streams concerned.
  private func tellLive(after position: Int) async throws -> Int {
    var position = position
    while true {
      let (posts, accounts) = state.withLock { (Array($0.ofPost.keys), Array($0.ofAccount.keys)) }
      let found = try await EventFeed.live(after: position, posts: posts, in: pool)
      let fans = try await EventFeed.fans(of: found.rows.compactMap(\.celeb), among: accounts, in: pool)
      try await deliver(found.rows) { row in
        self.state.withLock { state in
          if let post = row.post { return Array(state.ofPost[post] ?? []) }
          let listeners = row.celeb.map { fans[$0] ?? [] } ?? row.followers
          return listeners.flatMap { state.ofAccount[$0] ?? [] }
        }
      }
      position = found.position
      if !found.isMoreLeft { return position }
    }
  }

  private func deliver(
    _ rows: [EventFeed.LiveRows.Row], to streams: (EventFeed.LiveRows.Row) -> [Int]
  ) async throws {
    if rows.isEmpty { return }
    let targets = rows.map(streams)
    let authors = Set(rows.compactMap(\.author))
    var restrictions: [Int: Set<Int>] = [:]
    if !authors.isEmpty {
      let viewers = state.withLock { state in Set(targets.joined().compactMap { state.streams[$0]?.listener.account }) }
      restrictions = try await EventFeed.restrictions(of: Array(viewers), on: Array(authors), in: pool)
    }
    for (row, ids) in zip(rows, targets) {
      let text = try EventText.text(of: row.item)
      let listeners = state.withLock { state in
        ids.compactMap { id -> (id: Int, cursor: EventFeedCursor)? in
          // A stream that has caught up already has this event.
          guard let stream = state.streams[id], stream.listener.cursor.live < row.id, !stream.isStalled else {
            return nil
          }
          state.streams[id]?.listener.cursor.live = row.id
          if let author = row.author, restrictions[stream.listener.account]?.contains(author) == true { return nil }
          var cursor = stream.listener.cursor
          cursor.live = row.id
          return (id, cursor)
        }
      }
      for stream in listeners { send(text, stream.cursor, to: stream.id) }
    }
  }

  /// Sends posts' counts, at most once per `countPause`; new streams get them immediately.
  private func tellCounts(_ posts: Set<Int>, newcomers: Set<Int>) async throws {
    let now = ContinuousClock.now
    let (due, wait) = state.withLock { state in
      var due: Set<Int> = []
      var wait: Duration?
      for post in posts where state.ofPost[post] != nil {
        if let last = state.countedAt[post], last.duration(to: now) < countPause {
          state.work.counts.insert(post)
          wait = max(wait ?? .zero, countPause - last.duration(to: now))
        } else {
          state.countedAt[post] = now
          due.insert(post)
        }
      }
      return (due, wait)
    }
    let opened = state.withLock { state in
      newcomers.reduce(into: Set<Int>()) { $0.formUnion(state.streams[$1]?.posts ?? []) }
    }
    if !due.isEmpty || !opened.isEmpty {
      for counts in try await EventFeed.counts(of: Array(due.union(opened)), in: pool) {
        let text = try EventText.text(of: .counts(counts))
        let ids = state.withLock { state in
          let all = state.ofPost[counts.post] ?? []
          return due.contains(counts.post) ? all : all.intersection(newcomers)
        }
        for id in ids { send(text, nil, to: id) }
      }
    }
    if let wait {
      // Too early to send. Other work that arrives meanwhile is handled after the pause.
      try await Task.sleep(for: min(wait, .milliseconds(20)))
      signal.yield()
    }
  }

  private func tellGone(_ posts: Set<Int>) async throws {
    if posts.isEmpty { return }
    let visible = try await EventFeed.visible(Array(posts), to: nil, in: pool)
    for post in posts.subtracting(visible) {
      try close(post, to: state.withLock { $0.ofPost[post] ?? [] })
    }
  }

  /// Closes posts that the account may no longer see on its streams.
  private func tellRestricted(_ account: Int) async throws {
    let streams = state.withLock { $0.ofAccount[account] ?? [] }
    let posts = state.withLock { state in
      streams.reduce(into: Set<Int>()) { $0.formUnion(state.streams[$1]?.posts ?? []) }
    }
    if posts.isEmpty { return }
    let visible = try await EventFeed.visible(Array(posts), to: account, in: pool)
    for post in posts.subtracting(visible) {
      try close(post, to: state.withLock { ($0.ofPost[post] ?? []).intersection(streams) })
    }
  }

  /// Tells streams that a post is gone; they receive nothing more about it.
  private func close(_ post: Int, to ids: Set<Int>) throws {
    let text = try EventText.text(of: .postRemoved(post))
    for id in ids {
      send(text, nil, to: id)
      state.withLock { state in
        state.streams[id]?.posts.removeAll { $0 == post }
        Self.take(id, out: post, of: &state.ofPost)
      }
    }
  }

  /// Ends the streams whose sessions have ended.
  private func endSessions(of accounts: Set<Int>) async throws {
    let tokens = state.withLock { state in
      accounts.flatMap { state.ofAccount[$0] ?? [] }.compactMap { id in
        state.streams[id].map { (id: id, token: $0.token) }
      }
    }
    if tokens.isEmpty { return }
    let valid = try await Sessions.valid(tokens.map(\.token), in: pool)
    for stream in tokens where !valid.contains(stream.token) { leave(stream.id) }
  }
}
