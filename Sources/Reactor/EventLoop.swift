import CLinux
import DequeModule
import Glibc
import Locking

/// A thread that waits for file descriptors, timers and work from other threads: the executor of every connection's
/// actor.
///
/// A connection is an actor whose `unownedExecutor` is its loop, so all of its code runs on the thread that does its
/// I/O, and no lock is needed. A task that only claims, acknowledges or renews can run here entirely
/// (`withTaskExecutorPreference(loop.taskExecutor)`). A handler must not, because CPU work on the loop delays all I/O.
///
/// Other tasks and I/O may run during each `await`. So the decision whether a caller waits is made where its
/// continuation is stored, with no `await` in between.
///
/// A turn of the loop: run enqueued work, run the turn-end hooks (where a connection writes the whole turn's output,
/// which pipelines it), wait in `epoll_wait`, serve ready descriptors, fire due timers.
public final class EventLoop: SerialExecutor, @unchecked Sendable {
  // `@unchecked Sendable`: `inbox` is a lock; every other mutable field is confined to the loop's thread, which each
  // entry point checks with `preconditionIsCurrent`.

  /// A descriptor's readiness. Errors and hang-ups are reported as both kinds, so that the next read or write gets
  /// them.
  public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let read = Readiness(rawValue: 1)
    public static let write = Readiness(rawValue: 2)
  }

  fileprivate enum Work {
    /// A job of an actor.
    case job(UnownedJob)
    /// A job of a task that prefers the loop.
    case taskJob(UnownedJob, UnownedTaskExecutor)
    case body(@Sendable () -> Void)
  }

  private struct Inbox {
    var work: [Work] = []
    var wakeIsPending = false
    var isStopping = false
  }

  private struct Registration {
    var generation: UInt32
    var interest: Readiness
    var handler: (Readiness) -> Void
  }

  private let inbox = Locked(Inbox())
  private let epoll: Int32
  private let wake: Int32
  private let name: String

  // Confined to the loop's thread.
  private var local: Deque<Work> = []
  private var registrations: [Int32: Registration] = [:]
  private var generation: UInt32 = 0
  private var timers = TimerQueue()
  private var turnEnds: [() -> Void] = []

  /// Starts the thread.
  ///
  /// - Parameter name: the thread's name in `top` and in crash reports; 15 bytes are kept.
  public init(name: String = "fanmill-loop") {
    self.name = name
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    wake = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    precondition(epoll >= 0 && wake >= 0, "cannot open the event loop: errno \(errno); raise the open-file limit")
    var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.tag(wake, 0)))
    epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event)
    var id = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    let status = pthread_create(&id, nil, runEventLoop, context)
    precondition(status == 0, "cannot start the event loop's thread: error \(status)")
    pthread_detach(id)
  }

  /// Ends the thread after the current turn. Work enqueued later never runs: stop a loop only after everything that
  /// uses it.
  public func stop() {
    inbox.withLock { $0.isStopping = true }
    signal()
  }

  /// Whether the caller runs on the loop's thread.
  public var isCurrent: Bool { EventLoop.current === self }

  /// Traps unless called on the loop's thread.
  public func preconditionIsCurrent(_ function: StaticString = #function) {
    precondition(EventLoop.current === self, "\(function) belongs on its event loop's thread")
  }

  // MARK: Executor

  public func enqueue(_ job: consuming ExecutorJob) {
    add(.job(UnownedJob(job)))
  }

  /// Runs whole tasks on the loop.
  public var taskExecutor: LoopTaskExecutor { LoopTaskExecutor(loop: self) }

  fileprivate func add(_ work: Work) {
    if EventLoop.current === self {
      local.append(work)
      return
    }
    let mustSignal = inbox.withLock { inbox in
      inbox.work.append(work)
      let first = !inbox.wakeIsPending
      inbox.wakeIsPending = true
      return first
    }
    if mustSignal { signal() }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  public func checkIsolated() {
    precondition(EventLoop.current === self, "not on event loop \(name)")
  }

  /// Runs `body` on the loop, soon. If called on the loop's thread, runs it later in the same turn.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    add(.body(body))
  }

  /// Runs `body` on the loop: immediately if called on the loop's thread, else soon.
  public func perform(_ body: @escaping @Sendable () -> Void) {
    if EventLoop.current === self { body() } else { add(.body(body)) }
  }

  // MARK: Descriptors (loop's thread only)

  /// Calls `handler` on the loop whenever `descriptor` has the readiness in `interest` (level-triggered).
  public func register(_ descriptor: Int32, interest: Readiness, handler: @escaping (Readiness) -> Void) {
    preconditionIsCurrent()
    precondition(registrations[descriptor] == nil, "descriptor \(descriptor) is already registered")
    generation &+= 1
    registrations[descriptor] = Registration(generation: generation, interest: interest, handler: handler)
    control(EPOLL_CTL_ADD, descriptor, interest, generation)
  }

  /// Changes the readiness that a registered descriptor is watched for.
  public func setInterest(_ interest: Readiness, for descriptor: Int32) {
    preconditionIsCurrent()
    guard let registration = registrations[descriptor], registration.interest != interest else { return }
    registrations[descriptor]?.interest = interest
    control(EPOLL_CTL_MOD, descriptor, interest, registration.generation)
  }

  /// Stops watching a descriptor. Call it before closing the descriptor.
  public func deregister(_ descriptor: Int32) {
    preconditionIsCurrent()
    guard registrations.removeValue(forKey: descriptor) != nil else { return }
    var event = epoll_event()
    epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
  }

  // MARK: Timers and hooks (loop's thread only)

  /// Runs `body` on the loop after `delay`, unless the timer is cancelled first.
  @discardableResult
  public func schedule(after delay: Duration, _ body: @escaping () -> Void) -> TimerID {
    preconditionIsCurrent()
    return timers.add(at: .now + delay, body)
  }

  /// Cancels a timer; does nothing if it has run.
  public func cancel(_ timer: TimerID) {
    preconditionIsCurrent()
    timers.remove(timer)
  }

  /// Runs `body` once at the end of this turn, before the loop waits: the place to write a turn's output.
  public func atTurnEnd(_ body: @escaping () -> Void) {
    preconditionIsCurrent()
    turnEnds.append(body)
  }

  // MARK: The loop

  /// The loop whose thread the caller is on, if any.
  public static var current: EventLoop? {
    guard let pointer = pthread_getspecific(currentLoopKey) else { return nil }
    return Unmanaged<EventLoop>.fromOpaque(pointer).takeUnretainedValue()
  }

  fileprivate func run() {
    pthread_setspecific(currentLoopKey, Unmanaged.passUnretained(self).toOpaque())
    name.withCString { _ = fanmill_set_thread_name($0) }
    // hiredis writes with plain write(2): if the server is gone, that must be an error and must not kill the process.
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, nil)
    var events = [epoll_event](repeating: epoll_event(), count: 256)
    while true {
      let stopping = takeInbox()
      runJobs()
      endTurn()
      if stopping { break }
      wait(&events)
      let now = ContinuousClock.now
      while let body = timers.popDue(at: now) { body() }
    }
    for descriptor in registrations.keys { close(descriptor) }
    registrations.removeAll()
    close(epoll)
    close(wake)
    pthread_setspecific(currentLoopKey, nil)
  }

  private func takeInbox() -> Bool {
    var taken: [Work] = []
    let stopping = inbox.withLock { inbox in
      taken = inbox.work
      inbox.work = []
      return inbox.isStopping
    }
    local.append(contentsOf: taken)
    return stopping
  }

  /// Runs queued jobs, and jobs that they queue, up to a limit; then I/O gets its turn.
  private func runJobs() {
    var budget = 4096
    let serial = asUnownedSerialExecutor()
    while budget > 0, let work = local.popFirst() {
      switch work {
      // A job is resumed the way it was enqueued. A task without a preference, run as if it preferred the loop, would
      // leave it at each `await`, even of the actor's own methods, and return through another thread.
      case .job(let job): job.runSynchronously(on: serial)
      case .taskJob(let job, let executor): job.runSynchronously(isolatedTo: serial, taskExecutor: executor)
      case .body(let body): body()
      }
      budget -= 1
    }
  }

  private func endTurn() {
    while !turnEnds.isEmpty {
      var bodies: [() -> Void] = []
      swap(&bodies, &turnEnds)
      for body in bodies { body() }
    }
  }

  private func wait(_ events: inout [epoll_event]) {
    let timeout: Int32 = local.isEmpty ? timers.millisecondsToNext(from: .now) : 0
    let count = epoll_wait(epoll, &events, Int32(events.count), timeout)
    guard count > 0 else { return }
    for event in events[..<Int(count)] {
      let descriptor = Int32(truncatingIfNeeded: event.data.u64 & 0xFFFF_FFFF)
      if descriptor == wake {
        var value: UInt64 = 0
        read(wake, &value, 8)
        inbox.withLock { $0.wakeIsPending = false }
        continue
      }
      // An earlier handler in this loop may have closed the descriptor, and another may have reused its number.
      guard let registration = registrations[descriptor],
        registration.generation == UInt32(truncatingIfNeeded: event.data.u64 >> 32)
      else { continue }
      var readiness: Readiness = []
      let failed = event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
      if failed || event.events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { readiness.insert(.read) }
      if failed || event.events & EPOLLOUT.rawValue != 0 { readiness.insert(.write) }
      registration.handler(readiness)
    }
  }

  private func signal() {
    var one: UInt64 = 1
    write(wake, &one, 8)
  }

  private func control(_ operation: Int32, _ descriptor: Int32, _ interest: Readiness, _ generation: UInt32) {
    var flags: UInt32 = 0
    if interest.contains(.read) { flags |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
    if interest.contains(.write) { flags |= EPOLLOUT.rawValue }
    var event = epoll_event(events: flags, data: epoll_data_t(u64: Self.tag(descriptor, generation)))
    let status = epoll_ctl(epoll, operation, descriptor, &event)
    precondition(status == 0, "epoll_ctl(\(operation), \(descriptor)) failed: errno \(errno)")
  }

  private static func tag(_ descriptor: Int32, _ generation: UInt32) -> UInt64 {
    UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
  }
}

/// Runs tasks on an event loop's thread.
public final class LoopTaskExecutor: TaskExecutor {
  private let loop: EventLoop

  fileprivate init(loop: EventLoop) { self.loop = loop }

  public func enqueue(_ job: consuming ExecutorJob) {
    loop.add(.taskJob(UnownedJob(job), asUnownedTaskExecutor()))
  }
}

/// The key under which a thread stores its loop.
private let currentLoopKey: pthread_key_t = {
  var key = pthread_key_t()
  let status = pthread_key_create(&key, nil)
  precondition(status == 0, "pthread_key_create failed with \(status)")
  return key
}()

private func runEventLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
  return nil
}
