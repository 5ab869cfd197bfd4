import LibPQClient
import Logging
import Social

/// Reads what streams' listeners have not received yet, for all of them with a few statements, and sends it.
struct EventReader: Sendable {
  let pool: PostgresPool
  let streams: EventStreams
  /// The minimum time between two counts of one post.
  let countPause: Duration
  let logger: Logger

  /// Reads whatever is pending, until the task is cancelled.
  func run() async {
    /// The position in `live_events` up to which all listeners have been served.
    var position: Int?
    for await _ in streams.signals {
      while true {
        let reads = streams.takeReads()
        if reads.isEmpty || Task.isCancelled { break }
        do {
          try await serve(reads, &position)
        } catch {
          if Task.isCancelled { return }
          // The cursors have not moved, so nothing is missed.
          logger.warning("reading events failed; retrying", metadata: ["error": "\(error)"])
          streams.readAllAgain()
          do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
      }
    }
  }

  private func serve(_ reads: EventStreams.Reads, _ position: inout Int?) async throws {
    let known: Int
    if let position { known = position } else { known = try await EventFeed.position(in: pool) }
    position = known
    // Streams that have just begun, or are read again, may have missed any notice.
    try await endSessions(of: reads.streams.union(streams.ids(of: reads.sessions)))
    try await closeHidden(on: reads.streams.union(streams.ids(of: reads.restrictions)))
    try await closeRemoved(reads.removals)
    try await sendOwn(.all, to: reads.streams)
    if !reads.streams.isEmpty {
      try await catchUp(reads.streams, to: max(known, try await EventFeed.floor(in: pool)))
    }
    try await sendOwn(.notifications, to: streams.ids(of: reads.notifications).subtracting(reads.streams))
    try await sendOwn(.messages, to: streams.ids(of: reads.messages).subtracting(reads.streams))
    if reads.hasLive || !reads.streams.isEmpty {
      let reached = try await sendLive(after: known)
      streams.pass(upTo: reached, newcomers: reads.streams)
      position = reached
    }
    for (id, stream) in streams.streams(reads.positions) where !stream.isStalled {
      streams.send(EventText.silence, stream.listener.cursor, to: id)
    }
    try await sendCounts(reads.counts, newcomers: reads.streams)
  }

  // MARK: Own events

  private enum Kind {
    case all
    case notifications
    case messages
  }

  /// The number of streams that one statement reads for.
  private static let batch = 500

  /// Sends accounts their own notifications and messages. An account with more news than one read returns gets the rest
  /// in the next pass, and so delays no other.
  private func sendOwn(_ kind: Kind, to ids: Set<Int>) async throws {
    var left = Array(ids)
    while !left.isEmpty {
      let batch = Array(left.suffix(Self.batch))
      left.removeLast(batch.count)
      let known = streams.streams(batch).filter { !$0.stream.isStalled }
      var listeners = known.map(\.stream.listener)
      if kind != .messages {
        let news = try await EventFeed.notifications(for: &listeners, in: pool)
        try deliver(news, to: known.map(\.id), listeners)
        streams.readOn(notifications: news.unfinished.map { listeners[$0].account })
      }
      if kind != .notifications {
        let news = try await EventFeed.messages(for: &listeners, in: pool)
        try deliver(news, to: known.map(\.id), listeners)
        streams.readOn(messages: news.unfinished.map { listeners[$0].account })
      }
    }
  }

  private func deliver(_ news: EventFeed.News, to ids: [Int], _ listeners: [EventFeed.Listener]) throws {
    for (id, listener) in zip(ids, listeners) { streams.setCursor(listener.cursor, of: id) }
    for (place, items) in news.items {
      var earlier = ""
      for entry in items {
        let text = try EventText.text(of: entry.item)
        if let cursor = entry.cursor {
          streams.send(text, cursor, after: earlier, to: ids[place])
          earlier = ""
        } else {
          earlier += text
        }
      }
    }
  }

  // MARK: Live events

  /// Sends returning streams what they missed in their threads and lookups, up to `position` or further; `sendLive`
  /// continues from there.
  private func catchUp(_ ids: Set<Int>, to position: Int) async throws {
    let late = streams.streams(ids).filter { $0.stream.listener.cursor.live < position && !$0.stream.isStalled }
    for (id, stream) in late {
      var cursor = stream.listener.cursor
      while true {
        let found = try await EventFeed.live(
          after: cursor.live, posts: stream.posts, lookedUpBy: stream.listener.account, in: pool)
        if cursor.live < found.floor {
          cursor.live = found.position
          streams.advance(id, to: cursor.live)
          streams.send(try EventText.text(of: .reset), cursor, to: id)
          break
        }
        try await deliver(found.rows) { _ in [id] }
        cursor.live = found.position
        let isReading = streams.advance(id, to: cursor.live)
        if !isReading || !found.isMoreLeft { break }
      }
    }
  }

  /// Sends everything that happened after `position` to the streams concerned.
  private func sendLive(after position: Int) async throws -> Int {
    var position = position
    while true {
      let (accounts, posts) = streams.topics
      let found = try await EventFeed.live(after: position, posts: posts, in: pool)
      let fans = try await EventFeed.fans(of: found.rows.compactMap(\.celeb), among: accounts, in: pool)
      try await deliver(found.rows) { row in
        if let post = row.post { return Array(streams.ids(on: post)) }
        return Array(streams.ids(of: row.celeb.map { fans[$0] ?? [] } ?? row.followers))
      }
      position = found.position
      if !found.isMoreLeft { return position }
    }
  }

  private func deliver(
    _ rows: [EventFeed.LiveRows.Row], to listening: (EventFeed.LiveRows.Row) -> [Int]
  ) async throws {
    if rows.isEmpty { return }
    let targets = rows.map(listening)
    let authors = Set(rows.compactMap(\.author))
    var restrictions: [Int: Set<Int>] = [:]
    if !authors.isEmpty {
      let viewers = Set(streams.streams(Set(targets.joined())).map(\.stream.listener.account))
      restrictions = try await EventFeed.restrictions(of: Array(viewers), on: Array(authors), in: pool)
    }
    for (row, ids) in zip(rows, targets) {
      let text = try EventText.text(of: row.item)
      let listeners = streams.pass(row.id, to: ids) { account in
        row.author.map { restrictions[account]?.contains($0) != true } ?? true
      }
      for stream in listeners { streams.send(text, stream.cursor, to: stream.id) }
    }
  }

  // MARK: Posts

  /// Sends posts' counts, at most once per `countPause`; new streams get them immediately.
  private func sendCounts(_ posts: Set<Int>, newcomers: Set<Int>) async throws {
    let (due, wait) = streams.takeDueCounts(posts, pause: countPause)
    let opened = streams.posts(of: newcomers)
    if !due.isEmpty || !opened.isEmpty {
      for counts in try await EventFeed.counts(of: Array(due.union(opened)), in: pool) {
        let text = try EventText.text(of: .counts(counts))
        let all = streams.ids(on: counts.post)
        for id in due.contains(counts.post) ? all : all.intersection(newcomers) { streams.send(text, nil, to: id) }
      }
    }
    if let wait {
      // Too early to send. Other work that arrives meanwhile is handled after the pause.
      try await Task.sleep(for: min(wait, .milliseconds(20)))
      streams.wake()
    }
  }

  private func closeRemoved(_ posts: Set<Int>) async throws {
    if posts.isEmpty { return }
    let visible = try await EventFeed.visible(Array(posts), in: pool)
    for post in posts.subtracting(visible) {
      for id in streams.ids(on: post) { try close(post, on: id) }
    }
  }

  /// Closes the posts that streams' accounts may not see.
  private func closeHidden(on ids: Set<Int>) async throws {
    var left = streams.streams(ids).flatMap { id, stream in
      stream.posts.map { (id: id, account: stream.listener.account, post: $0) }
    }
    while !left.isEmpty {
      let batch = Array(left.suffix(10 * Self.batch))
      left.removeLast(batch.count)
      let areVisible = try await EventFeed.areVisible(batch.map(\.post), to: batch.map(\.account), in: pool)
      for (place, isVisible) in zip(batch, areVisible) where !isVisible { try close(place.post, on: place.id) }
    }
  }

  /// Tells a stream that a post is gone; it receives nothing more about it. A paused stream is told when it goes on.
  private func close(_ post: Int, on id: Int) throws {
    if streams.send(try EventText.text(of: .postRemoved(post)), nil, to: id) { streams.remove(post, from: id) }
  }

  // MARK: Sessions

  /// Ends those of the streams whose sessions have ended.
  private func endSessions(of ids: Set<Int>) async throws {
    let open = streams.streams(ids)
    if open.isEmpty { return }
    let valid = try await Sessions.valid(open.map(\.stream.token), in: pool)
    for (id, stream) in open where !valid.contains(stream.token) { streams.leave(id) }
  }
}
