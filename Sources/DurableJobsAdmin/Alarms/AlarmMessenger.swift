import DurableJobs
import Foundation
import Logging

/// Delivers alarm messages one at a time, in order. A message that is not accepted is retried for a day, with growing
/// pauses. A failing delivery blocks nothing else.
struct AlarmMessenger: Sendable {
  let book: AlarmBook
  let deliver: AlarmDelivery
  let pause: @Sendable (Duration) async throws -> Void
  let now: @Sendable () -> Date
  let logger: Logger

  /// The age after which an undelivered message is given up, since it no longer matters.
  static let patience: TimeInterval = 86_400

  /// Delivers pending messages at the start and on each element of `changes`, until cancelled.
  func run(_ changes: AsyncStream<Void>) async throws {
    try await tellAll()
    for await _ in changes { try await tellAll() }
  }

  private func tellAll() async throws {
    var wait = Duration.seconds(1)
    while true {
      do {
        guard let message = try await book.undelivered() else { return }
        if try await tell(message) {
          try await book.delivered(message)
          wait = .seconds(1)
          continue
        }
      } catch {
        try Task.checkCancellation()
        logger.warning("cannot read or update the alarm messages", metadata: [LogKeys.error: "\(error)"])
      }
      try await pause(wait)
      wait = min(wait * 2, .seconds(60))
    }
  }

  /// - Returns: whether the message is finished with, delivered or given up.
  private func tell(_ message: Alarm) async throws -> Bool {
    var metadata: Logger.Metadata = [LogKeys.queue: "\(message.queue)", "alarm": "\(message.id)"]
    do {
      try await deliver(AlarmMessage(alarm: message))
      return true
    } catch {
      try Task.checkCancellation()
      metadata[LogKeys.error] = "\(error)"
    }
    if now().timeIntervalSince(message.closedAt ?? message.openedAt) > Self.patience {
      logger.error("an alarm message was not delivered for a day and is dropped", metadata: metadata)
      return true
    }
    logger.warning("an alarm message was not delivered; it will be retried", metadata: metadata)
    return false
  }
}
