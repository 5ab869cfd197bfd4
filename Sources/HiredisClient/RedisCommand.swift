/// A command, encoded on creation. Resending it costs no encoding.
///
///     RedisCommand("SET", key, value, "PX", 30_000)
public struct RedisCommand: Sendable {
  private var buffer: RedisBuffer

  /// A command with a name and arguments of any types.
  public init<each Argument: RedisArgument>(_ name: String, _ arguments: repeat each Argument) {
    buffer = RedisBuffer(capacity: 112)
    name.append(to: &buffer)
    repeat (each arguments).append(to: &buffer)
    buffer.writeHeader()
  }

  /// A command made of parts, of which the first is its name. The name is required.
  public init(_ parts: [any RedisArgument]) {
    precondition(!parts.isEmpty, "a Redis command needs a name")
    buffer = RedisBuffer(capacity: 24 * parts.count)
    for part in parts { part.append(to: &buffer) }
    buffer.writeHeader()
  }

  /// A query that every readable server answers: a server with a full disk refuses PING as it refuses writes.
  public static let echo = RedisCommand("ECHO", "fanmill")

  /// Reserves `count` more bytes before many appends.
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

  /// The number of parts, including the name.
  public var count: Int { buffer.parts }

  /// Whether the command changes the meaning of replies, as `SUBSCRIBE` and `MONITOR` do. hiredis treats such commands
  /// specially, and the connection's accounting of one reply per command would not hold.
  var startsStream: Bool {
    // For ordinary commands, only the length and one letter are compared.
    guard let name = buffer.firstPart, (7...12).contains(name.count), let last = name.last else { return false }
    switch last | 0x20 {
    case UInt8(ascii: "r"): return name.lowercasedEquals("monitor")
    case UInt8(ascii: "e"): return name.suffix(9).lowercasedEquals("subscribe")
    default: return false
    }
  }

  /// The command as sent on the wire.
  func withWireBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    buffer.bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[buffer.start...])) }
  }
}

extension ArraySlice<UInt8> {
  fileprivate func lowercasedEquals(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { letters in elementsEqual(letters) { $0 | 0x20 == $1 } }
  }
}
