internal import CHiredis

/// A reply as it lies in the client library's memory, lent for the time of one `decode` closure.
///
/// The closure runs on the event loop: take out what is needed, compute elsewhere. It cannot be copied, and nothing of
/// it (`bytes` above all) may be kept past the closure's end.
public struct RedisReply: ~Copyable {
  /// What a reply can be (RESP2).
  public enum Kind: Sendable {
    case string, status, integer, array, null, error
  }

  private let pointer: UnsafePointer<redisReply>

  init(_ pointer: UnsafePointer<redisReply>) {
    self.pointer = pointer
  }

  public var kind: Kind {
    switch pointer.pointee.type {
    case REDIS_REPLY_STRING: .string
    case REDIS_REPLY_STATUS: .status
    case REDIS_REPLY_INTEGER: .integer
    case REDIS_REPLY_ARRAY: .array
    case REDIS_REPLY_ERROR: .error
    default: .null
    }
  }

  public var isNull: Bool { pointer.pointee.type == REDIS_REPLY_NIL }

  /// The number of an integer reply; 0 for any other kind.
  public var integer: Int64 { Int64(pointer.pointee.integer) }

  /// The bytes of a string, status or error; empty for any other kind.
  public var bytes: UnsafeRawBufferPointer {
    guard let start = pointer.pointee.str else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: start, count: pointer.pointee.len)
  }

  /// How many elements an array has; 0 for any other kind.
  public var count: Int { pointer.pointee.elements }

  /// An element of an array.
  public subscript(index: Int) -> RedisReply {
    precondition(0 <= index && index < count, "the Redis reply has \(count) elements, not element \(index)")
    guard let element = pointer.pointee.element[index] else {
      preconditionFailure("the Redis reply has no element \(index)")
    }
    return RedisReply(element)
  }

  /// The bytes as text, where they are a string or status; malformed UTF-8 is repaired.
  public var text: String? {
    switch kind {
    case .string, .status: String(decoding: bytes, as: UTF8.self)
    default: nil
    }
  }

  /// The number of an integer reply, or of a string that is a decimal number.
  public var int: Int? {
    switch kind {
    case .integer: Int(exactly: integer)
    case .string, .status: Int(String(decoding: bytes, as: UTF8.self))
    default: nil
    }
  }

  /// A copy of the whole reply that may be kept.
  public var value: RedisValue {
    switch kind {
    case .string, .status: .string([UInt8](bytes))
    case .integer: .integer(integer)
    case .array: .array((0..<count).map { self[$0].value })
    case .null: .null
    case .error: .error(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// Whether the server refused to write since it is a replica: it was demoted, or the wrong one is asked.
  var isReadOnlyRefusal: Bool {
    guard pointer.pointee.type == REDIS_REPLY_ERROR else { return false }
    return bytes.starts(with: "READONLY ".utf8)
  }

  /// The error, if the whole reply is one.
  var serverError: RedisError? {
    guard pointer.pointee.type == REDIS_REPLY_ERROR else { return nil }
    return RedisError(serverReply: String(decoding: bytes, as: UTF8.self))
  }
}
