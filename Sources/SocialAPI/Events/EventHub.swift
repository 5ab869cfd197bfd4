#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import LibPQClient
import Logging
import ServiceLifecycle
import Social

/// Pushes events to listening clients as soon as they are committed.
///
/// Transactions publish what may have changed (`LiveTopic`). The hub reads the changes for all listeners with a few
/// statements, however many streams are open, and sends one query a minute while idle. After losing its notification
/// connection, it reconnects and reads everything again.
///
/// `run()` serves until a graceful shutdown, which ends every stream; clients then reconnect to another process and
/// resume from the last event they received.
public final class EventHub: Service {
  /// The interval between keep-alives, in seconds.
  private static let silence = 15
  /// The interval between reports of a stream's position, in seconds. A client that heard nothing else resumes from the
  /// last one: it misses nothing, and gets nothing from before.
  private static let report = 60

  private let pool: PostgresPool
  private let logger: Logger
  private let countPause: Duration
  private let patience: Duration
  private let second: Duration
  let streams = EventStreams()

  /// - Parameters:
  ///   - countPause: the minimum time between two counts of one post.
  ///   - patience: how long a client may leave sent data unread.
  ///   - second: how long a second of keep-alives and reports lasts.
  public init(
    pool: PostgresPool, countPause: Duration = .milliseconds(500),
    patience: Duration = .seconds(20), second: Duration = .seconds(1), logger: Logger
  ) {
    self.patience = patience
    self.second = second
    self.pool = pool
    self.countPause = countPause
    self.logger = logger
  }

  // MARK: Streams

  /// The number of open streams.
  var count: Int { streams.count }

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
    until sessionEnd: Date, to client: EventClient
  ) throws(SocialError) -> Int {
    try streams.enter(viewer, token, from: cursor, posts: posts, until: sessionEnd, to: client)
  }

  /// Starts sending, after the head of the response.
  func begin(_ id: Int) { streams.begin(id) }

  func leave(_ id: Int) { streams.leave(id) }

  // MARK: Running

  public func run() async throws {
    let reader = EventReader(pool: pool, streams: streams, countPause: countPause, logger: logger)
    await cancelWhenGracefulShutdown { [self] in
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.receiveTopics() }
        group.addTask { await self.keepAlive() }
        group.addTask { await reader.run() }
      }
    }
    streams.close()
  }

  /// Receives the transactions' notifications on a dedicated connection.
  private func receiveTopics() async {
    while !Task.isCancelled {
      do {
        let connection = try await pool.dedicatedConnection()
        do {
          let notifications = try await connection.listen(LiveTopic.channel)
          // Notifications sent while disconnected are lost.
          streams.readAllAgain()
          for await notification in notifications { streams.note(LiveTopic.all(in: notification.payload)) }
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

  /// Sends keep-alives and positions, ends the streams of expired sessions, and cuts off clients that do not read. Each
  /// second covers a part of the streams, to spread the writes.
  private func keepAlive() async {
    var tick = 0
    var kept = ContinuousClock.now
    while true {
      do { try await Task.sleep(for: min(second, patience / 2)) } catch { return }
      attendStalled()
      if kept.duration(to: .now) < second { continue }
      kept = .now
      tick += 1
      streams.readPositions(hasLive: tick % Self.report == 0) { [tick] in $0 % Self.report == tick % Self.report }
      let now = Date.now
      for (id, stream) in streams.streams(where: { id, _ in id % Self.silence == tick % Self.silence }) {
        if stream.sessionEnd <= now {
          leave(id)
        } else if stream.hasBegun, !stream.client.send(EventText.silence) {
          streams.stall(id)
        }
      }
    }
  }

  /// Resumes stalled clients that read again, and cuts off those that still do not.
  private func attendStalled() {
    for (id, stream) in streams.streams(where: { $1.isStalled && $1.hasBegun }) {
      if stream.client.isReading {
        streams.resume(id)
      } else if stream.client.isBehind(by: patience) {
        stream.client.hangUp()
        leave(id)
      }
    }
  }
}
