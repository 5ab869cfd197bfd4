internal import CHiredis

/// A reply in the client library's memory, lent for the duration of one `decode` closure.
///
/// The closure runs on the event loop: extract what is needed, and compute elsewhere. The reply cannot be copied, and
/// no part of it (`bytes` above all) may be kept after the closure ends.
public struct RedisReply: ~Copyable {
  /// The kinds of replies (RESP2).
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

  /// The number of elements of an array; 0 for any other kind.
  public var count: Int { pointer.pointee.elements }

  /// An element of an array.
  public subscript(index: Int) -> RedisReply {
    precondition(0 <= index && index < count, "the Redis reply has \(count) elements, not element \(index)")
    guard let element = pointer.pointee.element[index] else {
      preconditionFailure("the Redis reply has no element \(index)")
    }
    return RedisReply(element)
  }

  /// The text of a string or status; malformed UTF-8 is repaired.
  public var text: String? {
    switch kind {
    case .string, .status: String(decoding: bytes, as: UTF8.self)
    default: nil
    }
  }

  /// The number of an integer reply, or of a string with a decimal number.
  public var int: Int? {
    switch kind {
    case .integer: Int(exactly: integer)
    case .string, .status: Int(String(decoding: bytes, as: UTF8.self))
    default: nil
    }
  }

  /// A copy of the whole reply, which may be kept.
  public var value: RedisValue {
    switch kind {
    case .string, .status: .string([UInt8](bytes))
    case .integer: .integer(integer)
    case .array: .array((0..<count).map { self[$0].value })
    case .null: .null
    case .error: .error(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// Whether the server refused a write because it is a replica: it was demoted, or is the wrong server.
  var isReadOnlyRefusal: Bool {
    guard pointer.pointee.type == REDIS_REPLY_ERROR else { return false }
    return bytes.starts(with: "READONLY ".utf8)
  }

  /// The error if the whole reply is one.
  var serverError: RedisError? {
    guard pointer.pointee.type == REDIS_REPLY_ERROR else { return nil }
    return RedisError(serverReply: String(decoding: bytes, as: UTF8.self))
  }
}
