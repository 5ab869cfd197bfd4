import Foundation

/// A value behind a lock. Apps take this module alone, so it depends on no other.
///
/// Unchecked because the compiler cannot see the lock: `value` is private, and `withLock`, the only access to it, holds
/// the lock throughout.
final class Locked<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
