import NIOCore

/// Tracks the progress of a connection's requests, and when the client is too late. A value without I/O.
struct ConnectionTiming {
  /// The part of an exchange that took the client too long.
  enum Delay: Equatable {
    case head
    case body
    case idle
  }

  private enum Reading {
    case head(since: NIODeadline)
    case body(since: NIODeadline)
    case nothing(since: NIODeadline)
  }

  private let limits: ConnectionLimits
  private var reading: Reading
  /// The requests whose responses are not complete.
  private var open = 0
  /// When the server stopped reading. This time does not count against the client.
  private var unaskedSince: NIODeadline?
  /// When the client stopped reading while more data was waiting than the connection holds.
  private var unreadSince: NIODeadline?
  /// The last bytes received, at most four, and the last ones of the request's body.
  private var tail: [UInt8] = []
  private var bodyTail: [UInt8] = []

  init(_ limits: ConnectionLimits, connectedAt now: NIODeadline) {
    self.limits = limits
    reading = .head(since: now)
  }

  /// Records bytes that arrived and are parsed next.
  mutating func received(_ bytes: ByteBufferView, at now: NIODeadline) {
    tail = (tail + bytes.suffix(4)).suffix(4)
    if case .nothing = reading { reading = .head(since: now) }
  }

  mutating func receivedHead(at now: NIODeadline) {
    open += 1
    bodyTail = []
    reading = .body(since: now)
  }

  mutating func receivedBody(_ bytes: ByteBufferView) {
    bodyTail = (bodyTail + bytes.suffix(4)).suffix(4)
  }

  /// The server stops reading for now.
  mutating func stopsAsking(at now: NIODeadline) {
    if unaskedSince == nil { unaskedSince = now }
  }

  mutating func asks(at now: NIODeadline) {
    guard let since = unaskedSince.take(), case .body(let begun) = reading else { return }
    reading = .body(since: begun + (now - since))
  }

  mutating func receivedEnd(at now: NIODeadline) { reading = .nothing(since: now) }

  /// Records that the received bytes are parsed. Bytes after a complete request begin the next one: a request ends with
  /// an empty line, or with its body.
  mutating func parsed(at now: NIODeadline) {
    guard case .nothing = reading, tail != Self.emptyLine else { return }
    if !bodyTail.isEmpty, tail.suffix(bodyTail.count) == bodyTail[...] { return }
    reading = .head(since: now)
  }

  private static let emptyLine = Array("\r\n\r\n".utf8)

  /// Records that a response is complete.
  mutating func answered(at now: NIODeadline) {
    open -= 1
    // The rest of the body must still arrive in time.
    if open == 0 { asks(at: now) }
    switch reading {
    case .nothing: reading = .nothing(since: now)
    // A client may wait for a response before it sends the rest.
    case .head: reading = .head(since: now)
    case .body: break
    }
  }

  mutating func changedWritability(_ isWritable: Bool, at now: NIODeadline) { unreadSince = isWritable ? nil : now }

  /// The next deadline; nil while only the server is awaited.
  var next: (at: NIODeadline, delay: Delay)? {
    var next: (at: NIODeadline, delay: Delay)?
    switch reading {
    case .head(let since): if open == 0 { next = (since + TimeAmount(limits.head), .head) }
    case .body(let since): if unaskedSince == nil || open == 0 { next = (since + TimeAmount(limits.body), .body) }
    case .nothing(let since): if open == 0 { next = (since + TimeAmount(limits.idle), .idle) }
    }
    if let unreadSince {
      let unread = unreadSince + TimeAmount(limits.idle)
      if next.map({ unread < $0.at }) ?? true { next = (unread, .idle) }
    }
    return next
  }
}
