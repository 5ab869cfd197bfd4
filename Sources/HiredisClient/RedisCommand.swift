/// One command, encoded when it is made. Sending it again costs no encoding.
///
///     RedisCommand("SET", key, value, "PX", 30_000)
public struct RedisCommand: Sendable {
  private var buffer: RedisBuffer

  /// A command of a name and arguments of any kinds.
  public init<each Argument: RedisArgument>(_ name: String, _ arguments: repeat each Argument) {
    buffer = RedisBuffer(capacity: 112)
    name.append(to: &buffer)
    repeat (each arguments).append(to: &buffer)
    buffer.writeHeader()
  }

  /// A command of parts, the name first. At least the name must be there.
  public init(_ parts: [any RedisArgument]) {
    precondition(!parts.isEmpty, "a Redis command needs a name")
    buffer = RedisBuffer(capacity: 24 * parts.count)
    for part in parts { part.append(to: &buffer) }
    buffer.writeHeader()
  }

  /// A question that every server answers which can be read: one whose disk is full refuses PING as it refuses writes.
  public static let echo = RedisCommand("ECHO", "fanmill")

  /// Makes room for `count` more bytes, before many appends.
  public mutating func reserve(_ count: Int) {
    buffer.reserve(count)
  }

  /// Appends one argument.
  public mutating func append(_ argument: some RedisArgument) {
    argument.append(to: &buffer)
    buffer.writeHeader()
  }

  /// Appends arguments of one type.
  public mutating func append(contentsOf arguments: some Sequence<some RedisArgument>) {
    for argument in arguments { argument.append(to: &buffer) }
    buffer.writeHeader()
  }

  /// Appends arguments of several types.
  public mutating func append(contentsOf arguments: [any RedisArgument]) {
    for argument in arguments { argument.append(to: &buffer) }
    buffer.writeHeader()
  }

  /// How many parts it has, the name among them.
  public var count: Int { buffer.parts }

  /// Whether it is one that changes what replies mean, such as `SUBSCRIBE` and `MONITOR`. hiredis treats those apart,
  /// and the connection's bookkeeping, one reply a command, would not hold.
  var startsStream: Bool {
    // Of ordinary commands only the length and one letter are looked at.
    guard let name = buffer.firstPart, (7...12).contains(name.count), let last = name.last else { return false }
    switch last | 0x20 {
    case UInt8(ascii: "r"): return name.lowercasedEquals("monitor")
    case UInt8(ascii: "e"): return name.suffix(9).lowercasedEquals("subscribe")
    default: return false
    }
  }

  /// The command as it goes over the wire.
  func withWireBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    buffer.bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[buffer.start...])) }
  }
}

extension ArraySlice<UInt8> {
  fileprivate func lowercasedEquals(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { letters in elementsEqual(letters) { $0 | 0x20 == $1 } }
  }
}
