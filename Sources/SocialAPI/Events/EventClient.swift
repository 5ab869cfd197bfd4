import Locking
import NIOCore
import NIOHTTPTypes

/// The client's end of an event stream.
///
/// Events are written straight to the connection: a task that woke for each event would cost kilobytes per stream, and
/// more per event than the write itself.
final class EventClient: Sendable {
  private struct State {
    var stalledSince: ContinuousClock.Instant?
    var isOver = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let channel: any NIOCore.Channel
  private let state = Locked(State())

  init(_ channel: any NIOCore.Channel) { self.channel = channel }

  /// Sends a part of the body, unless earlier parts still wait for the client to read them.
  ///
  /// - Returns: whether the part was sent.
  func send(_ text: String) -> Bool {
    guard channel.isWritable else {
      state.withLock { $0.stalledSince = $0.stalledSince ?? .now }
      return false
    }
    state.withLock { $0.stalledSince = nil }
    channel.writeAndFlush(HTTPResponsePart.body(channel.allocator.buffer(string: text)), promise: nil)
    return true
  }

  /// Whether the client is reading again.
  var isReading: Bool { channel.isWritable }

  /// Whether sending has been blocked for longer than `limit`.
  func isBehind(by limit: Duration) -> Bool {
    if channel.isWritable { return false }
    return state.withLock { $0.stalledSince.map { $0.duration(to: .now) > limit } ?? false }
  }

  /// Closes the connection, even with writes pending.
  func hangUp() { channel.close(promise: nil) }

  /// Ends the stream.
  func end() {
    let waiter = state.withLock { state in
      state.isOver = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits for the end of the stream.
  func waitForEnd() async {
    await withCheckedContinuation { waiter in
      let isOver = state.withLock { state in
        if !state.isOver { state.waiter = waiter }
        return state.isOver
      }
      if isOver { waiter.resume() }
    }
  }
}
