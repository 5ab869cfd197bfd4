import Reactor

/// A notification that another session sent with NOTIFY.
public struct PostgresNotification: Hashable, Sendable {
  public let channel: String
  public let payload: String
  /// The process id of the sending session.
  public let sender: Int32
}

extension PostgresConnection {
  /// Receives other sessions' notifications on `channels`, from now on. Use a dedicated connection: notifications
  /// arrive between the results of its statements. The stream ends with the connection, or if a reader leaves 1,024
  /// notifications unread. After the end of a stream, notifications may have been missed, and the reader must listen
  /// again.
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

/// `name` as an SQL identifier, case preserved.
func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
