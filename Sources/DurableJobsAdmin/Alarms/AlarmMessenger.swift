import DurableJobs
import Foundation
import Logging

/// Delivers alarms, one message after the other, in order. A message that is not taken is tried again, with growing
/// pauses, for a day; whatever happens here keeps nothing else waiting.
struct AlarmMessenger: Sendable {
  let book: AlarmBook
  let deliver: AlarmDelivery
  let pause: @Sendable (Duration) async throws -> Void
  let now: @Sendable () -> Date
  let logger: Logger

  /// After so long nobody needs to be told any more.
  static let patience: TimeInterval = 86_400

  /// Tells what there is to tell each time that `changes` has something, and at first, until cancelled.
  func run(_ changes: AsyncStream<Void>) async throws {
    try await tellAll()
    for await _ in changes { try await tellAll() }
  }

  private func tellAll() async throws {
    var wait = Duration.seconds(1)
    while true {
      do {
        guard let message = try await book.untold() else { return }
        if try await tell(message) {
          try await book.told(message)
          wait = .seconds(1)
          continue
        }
      } catch {
        try Task.checkCancellation()
        logger.warning("the alarms' messages cannot be read or noted", metadata: [LogKeys.error: "\(error)"])
      }
      try await pause(wait)
      wait = min(wait * 2, .seconds(60))
    }
  }

  /// - Returns: whether the message is done with.
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
      logger.error("an alarm's message was not taken for a day; it is given up", metadata: metadata)
      return true
    }
    logger.warning("an alarm's message was not taken; it is tried again", metadata: metadata)
    return false
  }
}
