/// A value that a command can carry. Every argument travels as one bulk string, so it may contain any byte.
public protocol RedisArgument: Sendable {
  /// Appends exactly one bulk string.
  func append(to buffer: inout RedisBuffer)
}

extension String: RedisArgument {
  public func append(to buffer: inout RedisBuffer) {
    var copy = self
    copy.withUTF8 { buffer.appendBulk(UnsafeRawBufferPointer($0)) }
  }
}

extension Substring: RedisArgument {
  public func append(to buffer: inout RedisBuffer) {
    var copy = self
    copy.withUTF8 { buffer.appendBulk(UnsafeRawBufferPointer($0)) }
  }
}

extension StaticString: RedisArgument {
  public func append(to buffer: inout RedisBuffer) {
    withUTF8Buffer { buffer.appendBulk(UnsafeRawBufferPointer($0)) }
  }
}

extension Int: RedisArgument {
  public func append(to buffer: inout RedisBuffer) { buffer.appendBulk(Int64(self)) }
}

extension Int64: RedisArgument {
  public func append(to buffer: inout RedisBuffer) { buffer.appendBulk(self) }
}

extension Double: RedisArgument {
  /// The shortest decimal form that reads back as the same number; Redis also accepts `inf` and `-inf`.
  public func append(to buffer: inout RedisBuffer) { description.append(to: &buffer) }
}

extension [UInt8]: RedisArgument {
  public func append(to buffer: inout RedisBuffer) {
    withUnsafeBytes { buffer.appendBulk($0) }
  }
}

extension ArraySlice<UInt8>: RedisArgument {
  public func append(to buffer: inout RedisBuffer) {
    withUnsafeBytes { buffer.appendBulk($0) }
  }
}
