import DurableJobs
import Foundation

/// Delivers one alarm message; a thrown error causes a retry.
public typealias AlarmDelivery = @Sendable (AlarmMessage) async throws -> Void

/// One alarm message: that an alarm opened, or that it closed.
///
/// As JSON it is one object:
///
///     {"id", "event": "opened" or "closed", "queue", "what": "waiting" or "running", "limit", "seconds", "openedAt",
///      "closedAt", "text"}
///
/// `limit` and `seconds` are in seconds, times are ISO 8601. `text` is a sentence for people, under the key that chat
/// services expect. `id` and `event` identify the message, which may be delivered twice.
public struct AlarmMessage: Sendable, Hashable {
  /// The alarm as of this message: open, or closed.
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

  /// The message as one JSON object.
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

  /// Carries the alarm's id as the trace, which its log lines carry too; nil if the id is not a valid trace.
  public var traceparent: String? { alarm.trace.map { TraceContext.begin(in: $0).traceparent } }
}

extension Alarm {
  /// The trace id shared by the alarm's log lines and messages.
  public var trace: TraceID? { TraceID(high: id.high, low: id.low) }
}
