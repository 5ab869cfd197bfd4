import CLinux
import Foundation
import Glibc

/// A program that parses bytes which may be made to take it over, and so has few rights.
///
/// It reads /usr, its loader's cache and `readable`, and writes `folder`. It opens no socket, starts no process, signals
/// none, and has no capabilities, although it runs as this server's user: Landlock, seccomp and resource limits see to
/// that (`Sources/CLinux/confine.h`). It ends within `Limits.wallTime`, with the task that awaits it, and with this
/// program.
public struct ConfinedProcess: Sendable {
  /// What a process may use.
  public struct Limits: Hashable, Sendable {
    /// Bytes of address space, libraries included (RLIMIT_AS).
    public var memory = 512 << 20
    /// Whole seconds of processor time (RLIMIT_CPU).
    public var processorSeconds = 20
    /// From its start to its end.
    public var wallTime: Duration = .seconds(20)
    /// Bytes of each file that it writes (RLIMIT_FSIZE).
    public var fileSize = 64 << 20
    /// RLIMIT_NOFILE.
    public var openFiles = 64

    public init() {}
  }

  /// How a process ended.
  public enum Ending: Hashable, Sendable {
    /// By itself, with this status.
    case exited(Int32)
    /// By a signal: SIGXCPU over its processor time, SIGXFSZ over its file size.
    case signalled(Int32)
    /// Killed at the end of its wall time.
    case timedOut
  }

  public struct Outcome: Hashable, Sendable {
    public let ending: Ending
    /// The last 8 KB of what it wrote to its standard output and error.
    public let output: String
    /// What it had of the processors.
    public let processorTime: Duration
  }

  /// The version of the kernel's Landlock, 0 without it: then a process reaches all files that its user may. The other
  /// confinements hold all the same. From version 3 on all is denied that `ConfinedProcess` promises; versions 1 and 2
  /// lack nothing that the seccomp filter does not deny.
  public static var landlockVersion: Int { Int(fanmill_landlock_version()) }

  /// An absolute path, not of a script.
  public var program: String
  public var arguments: [String]
  /// All of its environment.
  public var environment: [String: String]
  /// Its current folder, and the one that it may write; no symbolic links, devices or folders, though.
  public var folder: String
  /// Files and folders that it may read besides.
  public var readable: [String]
  public var limits: Limits
  /// Which processor time it gets. Without one it runs at a low priority, and leaves the first processor to others.
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
        // A thread of its own: the kernel kills the child when the thread that started it ends, and waiting blocks.
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

  /// The pidfd of the child, which runs the program.
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
