#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A value that only one thread at a time can access, protected by a pthread mutex.
///
/// The standard library's `Mutex` does the same, but the thread sanitizer does not see its ordering and reports false
/// races. Hold the lock for a few instructions only: no I/O, no callback, no continuation.
public final class Locked<Value>: @unchecked Sendable {
  // `@unchecked Sendable`: only `withLock` accesses `value`, between lock and unlock of `mutex`; its input and output
  // are `sending`, so no reference to the value's inside survives on either side.
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

  /// Runs `body` with exclusive access to the value.
  // Inlined into other modules, which call it for each job: unspecialized, it would look up its types each time.
  @inlinable public func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
