import Foundation

/// Reads server-sent events from chunks, which may end anywhere, within a line or a character
/// (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
struct EventParser: Sendable {
  struct Event: Sendable, Hashable {
    /// `message` if the server named none.
    var name: String
    var data: String
    /// The id of the last event that had one, up to this one.
    var lastID: String?
    /// Whether this event itself has an id.
    var hasID: Bool
  }

  /// The id of the last complete event that had one.
  private(set) var lastID: String?
  /// The server's wish for the delay before a reconnect.
  private(set) var retry: Duration?

  private var line: [UInt8] = []
  private var isAtStart = true
  private var isAfterReturn = false
  private var name = ""
  private var data: [String] = []
  private var id: String?

  init(lastID: String? = nil, retry: Duration? = nil) {
    self.lastID = lastID
    self.retry = retry
  }

  /// The longest line. A longer one is not an event of this API.
  private static let longestLine = 1 << 20

  /// The events that a chunk completes.
  ///
  /// - Throws: `malformed_response` for a line of more than a megabyte.
  mutating func feed(_ chunk: Data) throws -> [Event] {
    var events: [Event] = []
    for byte in chunk {
      defer { isAfterReturn = byte == 0x0D }
      switch byte {
      // The second half of "\r\n".
      case 0x0A where isAfterReturn: continue
      case 0x0A, 0x0D:
        if let event = take() { events.append(event) }
      default:
        guard line.count < Self.longestLine else {
          throw FanmillError(.malformedResponse, "an event has a line of more than a megabyte")
        }
        line.append(byte)
      }
    }
    return events
  }

  /// Ends a line.
  private mutating func take() -> Event? {
    var bytes = line[...]
    if isAtStart, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
    isAtStart = false
    defer { line.removeAll(keepingCapacity: true) }
    if bytes.isEmpty { return dispatch() }
    // A comment.
    if bytes.first == 0x3A { return nil }
    let parts = bytes.split(separator: 0x3A, maxSplits: 1, omittingEmptySubsequences: false)
    var value = parts.count > 1 ? parts[1] : []
    if value.first == 0x20 { value = value.dropFirst() }
    let text = String(decoding: value, as: UTF8.self)
    switch String(decoding: parts[0], as: UTF8.self) {
    case "event": name = text
    case "data": data.append(text)
    case "id" where !value.contains(0): id = text
    case "retry":
      if let milliseconds = Int(text), milliseconds >= 0 { retry = .milliseconds(milliseconds) }
    default: break
    }
    return nil
  }

  /// Ends an event.
  private mutating func dispatch() -> Event? {
    defer { (name, data, id) = ("", [], nil) }
    if let id { lastID = id.isEmpty ? nil : id }
    if data.isEmpty { return nil }
    return Event(
      name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"), lastID: lastID, hasID: id != nil)
  }
}
