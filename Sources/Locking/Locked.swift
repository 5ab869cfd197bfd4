#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A value that only one thread at a time can reach, behind a pthread mutex.
///
/// The standard library's `Mutex` does the same, but the thread sanitizer does not see its ordering and reports races
/// that are none. Hold it for a few instructions only: no I/O, no callback, no continuation under the lock.
public final class Locked<Value>: @unchecked Sendable {
  // `@unchecked Sendable`: `value` is touched in `withLock` alone, between lock and unlock of `mutex`; what goes in and
  // comes out is `sending`, so no reference to its inside survives on either side.
  @usableFromInline internal var value: Value
  @usableFromInline internal let mutex: UnsafeMutablePointer<pthread_mutex_t>

  public init(_ value: sending Value) {
    self.value = value
    mutex = .allocate(capacity: 1)
    let status = pthread_mutex_init(mutex, nil)
    precondition(status == 0, "pthread_mutex_init failed with \(status)")
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs `body` with the value, alone.
  // Inlined in other modules: they take it for each job, and unspecialised it would look its types up each time.
  @inlinable public func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
