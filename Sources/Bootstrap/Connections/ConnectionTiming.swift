import NIOCore

/// How far a connection's requests are, and when it is too late for what is missing. A value without I/O.
struct ConnectionTiming {
  /// What a client took too long for.
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
  /// Requests that are not answered to the end.
  private var open = 0
  /// Since when the server has not been reading. This time does not count against the client.
  private var unaskedSince: NIODeadline?
  /// Since when the client has read nothing, while there is more for it than the connection holds.
  private var unreadSince: NIODeadline?
  /// The last bytes that came, four at most, and the last ones of the request's body.
  private var tail: [UInt8] = []
  private var bodyTail: [UInt8] = []

  init(_ limits: ConnectionLimits, connectedAt now: NIODeadline) {
    self.limits = limits
    reading = .head(since: now)
  }

  /// Bytes arrived, which are parsed next.
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

  /// The server takes no bytes for now.
  mutating func stopsAsking(at now: NIODeadline) {
    if unaskedSince == nil { unaskedSince = now }
  }

  mutating func asks(at now: NIODeadline) {
    guard let since = unaskedSince.take(), case .body(let begun) = reading else { return }
    reading = .body(since: begun + (now - since))
  }

  mutating func receivedEnd(at now: NIODeadline) { reading = .nothing(since: now) }

  /// The bytes that arrived are parsed. Bytes after a whole request begin the next one: a request ends with an empty
  /// line, or with its body.
  mutating func parsed(at now: NIODeadline) {
    guard case .nothing = reading, tail != Self.emptyLine else { return }
    if !bodyTail.isEmpty, tail.suffix(bodyTail.count) == bodyTail[...] { return }
    reading = .head(since: now)
  }

  private static let emptyLine = Array("\r\n\r\n".utf8)

  /// An answer was written to its end.
  mutating func answered(at now: NIODeadline) {
    open -= 1
    // The rest of the body must still arrive in time.
    if open == 0 { asks(at: now) }
    switch reading {
    case .nothing: reading = .nothing(since: now)
    // A client may wait for its answer before it goes on.
    case .head: reading = .head(since: now)
    case .body: break
    }
  }

  mutating func changedWritability(_ isWritable: Bool, at now: NIODeadline) { unreadSince = isWritable ? nil : now }

  /// The next moment at which something is too late; nil while only the server is waited for.
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
