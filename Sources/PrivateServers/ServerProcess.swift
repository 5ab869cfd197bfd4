import CLinux
import Foundation
import Glibc
import Locking

/// A child process with a dedicated thread that starts it, waits for its exit and reaps it.
///
/// It has a separate process group and no input, and ends with this program at the latest.
///
/// The thread matters: the kernel sends a child its parent-death signal when the *thread* that started it ends, so a
/// child started from a pool's thread could be killed while the program keeps running.
public final class ServerProcess: Sendable {
  /// The program to start, and how to tell that it is ready.
  public struct Plan: Sendable {
    public var program: String
    public var arguments: [String]
    /// The file to which its output is appended.
    public var log: String
    public var folder: String
    /// Environment variables besides `PATH`, `LC_ALL` and `TZ`.
    public var environment: [String: String]
    /// The user to run as; nil is the current one.
    public var user: String?
    /// The signal it gets if this program dies first.
    public var deathSignal: String

    public init(
      program: String, arguments: [String] = [], log: String, folder: String, environment: [String: String] = [:],
      user: String? = nil, deathSignal: String = "KILL"
    ) {
      self.program = program
      self.arguments = arguments
      self.log = log
      self.folder = folder
      self.environment = environment
      self.user = user
      self.deathSignal = deathSignal
    }
  }

  private struct State {
    var pid: pid_t = 0
    var status: Int32?
    var waiters: [CheckedContinuation<Int32, Never>] = []
  }

  private let state = Locked(State())

  /// Starts `plan`'s program.
  ///
  /// - Throws: `.failed` if the program cannot be executed, `.missingProgram` without `setpriv`.
  public static func start(_ plan: Plan) async throws(PrivateServerError) -> ServerProcess {
    // setpriv changes the user, sets the parent-death signal, in this order, and then becomes the program, so its pid
    // is the program's. (runuser would remain as a process in between.)
    var words = [try ServerPrograms.find("setpriv"), "--pdeathsig", plan.deathSignal]
    if let user = plan.user { words += ["--reuid", user, "--regid", user, "--init-groups"] }
    words += ["--", plan.program] + plan.arguments
    let command = words
    let process = ServerProcess()
    let failure: Int32 = await withCheckedContinuation { continuation in
      let thread = Thread {
        let (status, pid) = spawn(command, plan)
        process.state.withLock { $0.pid = pid }
        continuation.resume(returning: status)
        if status == 0 { process.waitForEnd(pid) }
      }
      thread.name = "server-process"
      thread.start()
    }
    if failure != 0 {
      throw PrivateServerError(.failed, "\(plan.program) cannot be started: \(String(cString: strerror(failure)))")
    }
    return process
  }

  /// Runs `plan` until it exits and returns its exit status (128 + the signal, if a signal ended it).
  public static func run(_ plan: Plan) async throws(PrivateServerError) -> Int32 {
    await (try start(plan)).end()
  }

  /// Sends `signal`, unless the process has exited.
  public func send(_ signal: Int32) {
    // Under the lock, which the reaping thread takes too, so the pid cannot have been reused.
    state.withLock { state in
      if state.status == nil, state.pid > 0 { _ = kill(state.pid, signal) }
    }
  }

  /// Sends SIGTERM and returns; sends SIGKILL if the process is still running after `patience`.
  public func stop(within patience: Duration) {
    send(SIGTERM)
    let deadline = ContinuousClock.now + patience
    // A thread, not a task: the caller is often a cancelled task that cannot wait any more.
    let thread = Thread { [self] in
      while !hasEnded, .now < deadline { usleep(10_000) }
      send(SIGKILL)
    }
    thread.name = "server-process-stop"
    thread.start()
  }

  public var pid: pid_t { state.withLock { $0.pid } }
  public var hasEnded: Bool { state.withLock { $0.status != nil } }

  /// Waits for the process to exit; returns the exit status, or 128 + the signal.
  @discardableResult
  public func end() async -> Int32 {
    await withCheckedContinuation { continuation in
      let status: Int32? = state.withLock { state in
        if state.status == nil { state.waiters.append(continuation) }
        return state.status
      }
      if let status { continuation.resume(returning: status) }
    }
  }

  private func waitForEnd(_ pid: pid_t) {
    var info = siginfo_t()
    while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    let (status, waiters) = state.withLock { state in
      var raw: Int32 = 0
      waitpid(pid, &raw, 0)
      let status = raw & 0x7f == 0 ? (raw >> 8) & 0xff : 128 + (raw & 0x7f)
      state.status = status
      let waiters = state.waiters
      state.waiters = []
      return (status, waiters)
    }
    for waiter in waiters { waiter.resume(returning: status) }
  }

  private static func spawn(_ words: [String], _ plan: Plan) -> (status: Int32, pid: pid_t) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, plan.log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    posix_spawn_file_actions_addchdir_np(&actions, plan.folder)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A separate process group: Ctrl-C in a terminal reaches only this program, which then stops its servers
    // gracefully.
    let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
    posix_spawnattr_setflags(&attributes, Int16(flags))
    posix_spawnattr_setpgroup(&attributes, 0)
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)

    let base = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC",
    ]
    let environment = base.merging(plan.environment) { $1 }.map { "\($0.key)=\($0.value)" }
    var pid: pid_t = 0
    let status = withCStrings(words) { arguments in
      withCStrings(environment) { environment in
        posix_spawn(&pid, words[0], &actions, &attributes, arguments, environment)
      }
    }
    return (status, pid)
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let pointers = strings.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers)
  }
}
