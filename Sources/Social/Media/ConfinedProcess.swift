import CLinux
import Foundation
import Glibc

/// A program with few rights, because it parses untrusted bytes that might take it over.
///
/// It can read /usr, its loader's cache and `readable`, and write `folder`. It cannot open sockets, start or signal
/// processes, or use capabilities, although it runs as this server's user. Landlock, seccomp and resource limits
/// enforce that (`Sources/CLinux/confine.h`). It ends within `Limits.wallTime`, and no later than the task that awaits
/// it and this program.
public struct ConfinedProcess: Sendable {
  /// The resources that a process may use.
  public struct Limits: Hashable, Sendable {
    /// Bytes of address space, libraries included (RLIMIT_AS).
    public var memory = 512 << 20
    /// Whole seconds of CPU time (RLIMIT_CPU).
    public var processorSeconds = 20
    /// From start to end.
    public var wallTime: Duration = .seconds(20)
    /// Bytes per file written (RLIMIT_FSIZE).
    public var fileSize = 64 << 20
    /// RLIMIT_NOFILE.
    public var openFiles = 64

    public init() {}
  }

  /// The way a process ended.
  public enum Ending: Hashable, Sendable {
    /// It exited with this status.
    case exited(Int32)
    /// A signal ended it: SIGXCPU for its CPU time, SIGXFSZ for its file size.
    case signalled(Int32)
    /// It was killed at the end of its wall time.
    case timedOut
  }

  public struct Outcome: Hashable, Sendable {
    public let ending: Ending
    /// The last 8 KB of its standard output and error.
    public let output: String
    /// The CPU time that it used.
    public let processorTime: Duration
  }

  /// The kernel's Landlock version; 0 without Landlock, and then a process can reach every file that its user can. The
  /// other confinements still apply. Versions from 3 on deny everything that `ConfinedProcess` promises; what versions
  /// 1 and 2 lack is denied by the seccomp filter.
  public static var landlockVersion: Int { Int(fanmill_landlock_version()) }

  /// An absolute path; not a script.
  public var program: String
  public var arguments: [String]
  /// Its whole environment.
  public var environment: [String: String]
  /// Its working directory, and the only one it may write to. It cannot create symbolic links, devices or directories
  /// there.
  public var folder: String
  /// Other files and folders that it may read.
  public var readable: [String]
  public var limits: Limits
  /// Controls the CPU time it gets. Without one it runs at a low priority, and leaves the first CPU to others.
  public var controlGroup: ControlGroup?

  public init(
    program: String, arguments: [String], environment: [String: String], folder: String, readable: [String] = [],
    limits: Limits = Limits(), controlGroup: ControlGroup? = nil
  ) {
    self.program = program
    self.arguments = arguments
    self.environment = environment
    self.folder = folder
    self.readable = readable
    self.limits = limits
    self.controlGroup = controlGroup
  }

  /// Runs the program to its end. No process is left when this returns or throws.
  ///
  /// - Throws: `ConfinementError` if it cannot be started; `CancellationError` if the task is cancelled, after the
  ///   process was killed.
  public func run() async throws -> Outcome {
    let fate = ConfinedFate()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // A dedicated thread: the kernel kills the child when the thread that started it ends, and waiting blocks.
        let thread = Thread {
          continuation.resume(returning: Result { () throws(ConfinementError) in try self.run(fate) })
        }
        thread.name = "confined"
        thread.start()
      }
    } onCancel: {
      fate.kill()
    }
    try Task.checkCancellation()
    return try result.get()
  }

  /// Runs the program to its end on this thread.
  private func run(_ fate: ConfinedFate) throws(ConfinementError) -> Outcome {
    var output = try ConfinedOutput()
    let deadline = ContinuousClock.now + limits.wallTime
    let child = try launch(output)
    output.closeWriteEnd()
    fate.begin(child)
    let isInTime = output.follow(until: child, or: deadline)
    if !isInTime { fanmill_confine_kill(child) }
    fate.end()
    var microseconds: Int64 = 0
    let status = fanmill_confine_reap(child, &microseconds)
    output.readRest()
    let ending: Ending = isInTime ? status < 0 ? .signalled(-status) : .exited(status) : .timedOut
    return Outcome(ending: ending, output: output.text, processorTime: .microseconds(microseconds))
  }

  /// Starts the program and returns the child's pidfd.
  private func launch(_ output: borrowing ConfinedOutput) throws(ConfinementError) -> Int32 {
    let paths = CStrings([program, folder])
    let arguments = CStrings([program] + self.arguments)
    let environment = CStrings(self.environment.map { "\($0.key)=\($0.value)" })
    let readable = CStrings(self.readable)
    let groups = CStrings(controlGroup.map { [$0.processes] } ?? [])
    var plan = fanmill_confined(
      program: paths.pointers[0], arguments: arguments.pointers, environment: environment.pointers,
      folder: paths.pointers[1], readable: readable.pointers, control_group: groups.pointers[0],
      output: output.writeEnd,
      memory: UInt64(limits.memory), seconds: UInt64(limits.processorSeconds), file_size: UInt64(limits.fileSize),
      open_files: UInt64(limits.openFiles))
    var failure = fanmill_confine_failure()
    let child = withExtendedLifetime([paths, arguments, environment, readable, groups]) {
      fanmill_confine_start(&plan, &failure)
    }
    guard child >= 0 else { throw ConfinementError(failure) }
    return child
  }
}
