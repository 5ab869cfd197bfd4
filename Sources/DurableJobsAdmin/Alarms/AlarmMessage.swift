import DurableJobs
import Foundation

/// Delivers one message of an alarm; an error has it tried again.
public typealias AlarmDelivery = @Sendable (AlarmMessage) async throws -> Void

/// One message of an alarm: that it opened, or that it is over.
///
/// As JSON it is one object:
///
///     {"id", "event": "opened" or "closed", "queue", "what": "waiting" or "running", "limit", "seconds", "openedAt",
///      "closedAt", "text"}
///
/// Limit and seconds are in seconds, times as ISO 8601 has them. `text` is a sentence for people, where chat services
/// look for one. `id` and `event` name the message, which may come twice.
public struct AlarmMessage: Sendable, Hashable {
  /// As it is at this message: open, or over.
  public let alarm: Alarm

  public init(alarm: Alarm) { self.alarm = alarm }

  private struct Form: Encodable {
    var id: String
    var event: String
    var queue: String
    var what: String
    var limit: Double
    var seconds: Double
    var openedAt: String
    var closedAt: String?
    var text: String
  }

  /// One JSON object.
  public func json() throws -> [UInt8] {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(
      try encoder.encode(
        Form(
          id: alarm.id.description, event: alarm.closedAt == nil ? "opened" : "closed", queue: alarm.queue,
          what: alarm.concern.rawValue, limit: alarm.limit, seconds: alarm.seconds,
          openedAt: alarm.openedAt.formatted(style), closedAt: alarm.closedAt?.formatted(style), text: alarm.text)))
  }

  /// Carries the alarm's id as the trace, which its log lines have too; nil for an id that is none.
  public var traceparent: String? { alarm.trace.map { TraceContext.begin(in: $0).traceparent } }
}

extension Alarm {
  /// What its log lines and its messages are found by.
  public var trace: TraceID? { TraceID(high: id.high, low: id.low) }
}
