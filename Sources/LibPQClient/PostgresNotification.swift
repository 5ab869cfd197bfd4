import Reactor

/// What another session told by NOTIFY.
public struct PostgresNotification: Hashable, Sendable {
  public let channel: String
  public let payload: String
  /// The process of the session that sent it.
  public let sender: Int32
}

extension PostgresConnection {
  /// Receives what other sessions NOTIFY on `channels`, from now on. A connection that listens should do nothing else:
  /// what it is told comes between its statements' answers. The stream ends with the connection, and for a reader who
  /// leaves 1,024 notifications waiting: whoever reads a stream to its end may have missed some, and listens again.
  public func listen(_ channels: String...) async throws(PostgresError) -> AsyncStream<PostgresNotification> {
    let id = nextID()
    let (stream, continuation) = AsyncStream.makeStream(
      of: PostgresNotification.self, bufferingPolicy: .bufferingOldest(1024))
    listeners[id] = Listener(channels: Set(channels), continuation: continuation)
    do {
      _ = try await submit(
        channels.map { PostgresQuery(unescaped: "LISTEN \(quoted($0))") }, timeout: nil)
    } catch {
      listeners[id] = nil
      throw error
    }
    let loop = self.loop
    continuation.onTermination = { [weak self] _ in
      loop.execute { [weak self] in self?.assumeIsolated { $0.listeners[id] = nil } }
    }
    return stream
  }

  func readNotifications() {
    while let notification = libpq?.nextNotification() {
      for listener in listeners.values where listener.channels.contains(notification.channel) {
        if case .dropped = listener.continuation.yield(notification) { listener.continuation.finish() }
      }
    }
  }
}

/// `name` as an SQL identifier, exactly as it is written.
func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
