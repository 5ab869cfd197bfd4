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

/// Tells clients that listen what is new for them, the moment it is committed.
///
/// Transactions notify what may be new (`LiveTopic`); the hub reads that for all who listen to it, a few statements for
/// any number of streams, and asks nothing while nothing happens. Where the connection for notifications is lost, it
/// reads everything again once it has another.
///
/// `run()` serves until a graceful shutdown, which ends every stream; clients then connect to another process and go on
/// from the last event that they heard.
public final class EventHub: Service {
  /// How many streams an account has open at most, and a process.
  static let perAccount = 5
  static let perProcess = 20_000

  /// Every stream gets a sign of life so often, in seconds.
  private static let silence = 15

  private struct Stream: Sendable {
    var listener: EventFeed.Listener
    /// The cursor of what was sent. A client that does not read is sent nothing until it does, and goes on from there.
    var sent: EventFeedCursor
    /// Whether it is sent nothing: before the answer has begun, and while the client does not read.
    var isStalled = true
    var hasBegun = false
    var posts: [Int]
    let token: SessionToken
    let sessionEnd: Date
    let client: EventClient
  }

  /// What is to be read again.
  private struct Work: Sendable {
    /// Streams that have just come, or for whom all is to be read.
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
    /// Streams by account, and by post.
    var ofAccount: [Int: Set<Int>] = [:]
    var ofPost: [Int: Set<Int>] = [:]
    var nextID = 0
    var isClosed = false
    var work = Work()
    /// When each post's counts were told last.
    var countedAt: [Int: ContinuousClock.Instant] = [:]
  }

  private let pool: PostgresPool
  private let logger: Logger
  private let countPause: Duration
  private let patience: Duration
  private let state = Locked(State())
  private let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  /// - Parameters:
  ///   - countPause: between two counts of one post.
  ///   - patience: with a client that does not read what it is sent.
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

  /// Takes a place for who is about to listen: `begin` is to follow.
  ///
  /// - Parameters:
  ///   - cursor: from where on.
  ///   - posts: whose threads the client has open.
  ///   - sessionEnd: when the stream ends.
  ///   - client: who is written to, until its stream is ended.
  /// - Returns: the number to `leave` by.
  /// - Throws: `too_many_streams`, `busy`.
  func listen(
    _ viewer: Sessions.Viewer, _ token: SessionToken, from cursor: EventFeedCursor, posts: [Int],
    until sessionEnd: Date,
    to client: EventClient
  ) throws(SocialError) -> Int {
    try state.withLock { state throws(SocialError) in
      if state.isClosed || state.streams.count >= Self.perProcess {
        throw SocialError(.busy, "this server has no room for another listener now")
      }
      guard state.ofAccount[viewer.id]?.count ?? 0 < Self.perAccount else {
        throw SocialError(
          .tooManyStreams, "an account listens from \(Self.perAccount) places at most: close one of them",
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

  /// Begins to send, after the head of the answer.
  func begin(_ id: Int) {
    state.withLock { state in
      state.streams[id]?.hasBegun = true
      state.streams[id]?.isStalled = false
      // What was committed since the cursor was read.
      state.work.streams.insert(id)
    }
    signal.yield()
  }

  /// How many streams are open.
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
        group.addTask { await self.look() }
      }
    }
    let streams = state.withLock { state in
      state.isClosed = true
      defer { (state.streams, state.ofAccount, state.ofPost) = ([:], [:], [:]) }
      return Array(state.streams.values)
    }
    for stream in streams {
      stream.client.end()
      // A client that does not read does not keep the program from its end.
      if !stream.client.isReading { stream.client.hangUp() }
    }
  }

  /// Takes what transactions notify, over a connection of its own.
  private func hear() async {
    while !Task.isCancelled {
      do {
        let connection = try await pool.dedicatedConnection()
        do {
          let notifications = try await connection.listen(LiveTopic.channel)
          // What was notified while there was no connection.
          state.withLock { Self.readAllAgain(&$0) }
          signal.yield()
          for await notification in notifications { note(LiveTopic.all(in: notification.payload)) }
        } catch {
          await connection.close()
          throw error
        }
        await connection.close()
      } catch {
        logger.warning("the connection for events is lost", metadata: ["error": "\(error)"])
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

  /// Gives signs of life, ends the streams of sessions that have expired, and cuts off clients that do not read. A
  /// fifteenth of the streams a second, so that they are never written to all at once.
  private func beat() async {
    var tick = 0
    var looked = ContinuousClock.now
    while true {
      do { try await Task.sleep(for: min(.seconds(1), patience / 2)) } catch { return }
      attendStalled()
      if looked.duration(to: .now) < .seconds(1) { continue }
      looked = .now
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

  /// Has clients that read again told what they have not heard, and cuts off those that do not read.
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

  // MARK: Looking

  private func look() async {
    /// Up to where `live_events` are told to all who listen.
    var position: Int?
    for await _ in signals {
      while true {
        let work = state.withLock { state in
          defer { state.work = Work() }
          return state.work
        }
        if work.isEmpty || Task.isCancelled { break }
        do {
          try await look(work, &position)
        } catch {
          if Task.isCancelled { return }
          // The cursors stand still, so nothing is missed.
          logger.warning("listeners wait for their news", metadata: ["error": "\(error)"])
          state.withLock { Self.readAllAgain(&$0) }
          do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
      }
    }
  }

  private func look(_ work: Work, _ position: inout Int?) async throws {
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

  /// How many streams one statement reads for.
  private static let batch = 500

  /// Tells accounts what is their own.
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
      for told in items { send(try EventText.text(of: told.item), told.cursor, to: ids[place]) }
    }
  }

  /// - Parameter cursor: of who has heard it; nil for what has none.
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

  /// Tells who has come what happened in its threads, and what it had asked YouTube for, since it was here last: up to
  /// `position` or further, where `tellLive` goes on.
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

  /// Tells everybody what happened after `position`.
  private func tellLive(after position: Int) async throws -> Int {
    var position = position
    while true {
      let (posts, accounts) = state.withLock { (Array($0.ofPost.keys), Array($0.ofAccount.keys)) }
      let found = try await EventFeed.live(after: position, posts: posts, in: pool)
      let fans = try await EventFeed.fans(of: found.rows.compactMap(\.celeb), among: accounts, in: pool)
      try await deliver(found.rows) { row in
        self.state.withLock { state in
          if let post = row.post { return Array(state.ofPost[post] ?? []) }
          let told = row.celeb.map { fans[$0] ?? [] } ?? row.followers
          return told.flatMap { state.ofAccount[$0] ?? [] }
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
      let told = state.withLock { state in
        ids.compactMap { id -> (id: Int, cursor: EventFeedCursor)? in
          // One that has caught up by itself has heard it.
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
      for stream in told { send(text, stream.cursor, to: stream.id) }
    }
  }

  /// Tells what posts count, each so often at most; who has just come is told at once.
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
      // Not to be told yet. What else happens meanwhile is looked at when it is over.
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

  /// Takes posts from an account's streams that it may not see any more.
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

  /// Tells streams that a post is gone, and nothing of it from then on.
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

  /// Ends the streams of sessions that are over.
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
