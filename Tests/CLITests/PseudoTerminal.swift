import Foundation
import Glibc
import Locking
import ProgramTestSupport

/// A program on its own terminal, whose output is kept as a terminal would show it.
final class PseudoTerminal: Sendable {
  private let leader: Int32
  private let process: Process
  private let emulator: Locked<TerminalScreen>
  private let ends: AsyncStream<Int32>

  /// - Parameter environment: the program's variables besides `PATH` and `TERM`.
  init(
    _ arguments: [String], environment: [String: String] = [:], columns: Int = 80, rows: Int = 24,
    in folder: String = NSTemporaryDirectory()
  ) throws {
    var (leader, follower): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&leader, &follower, nil, nil, &size) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    for end in [leader, follower] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let emulator = Locked(TerminalScreen(columns: columns, rows: rows))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: BuiltProgram("fanmill").path)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.environment = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "TERM": "xterm-256color",
    ].merging(environment) { $1 }
    let file = FileHandle(fileDescriptor: follower, closeOnDealloc: false)
    process.standardInput = file
    process.standardOutput = file
    process.standardError = file
    let (ends, end) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = { process in
      end.yield(process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus)
      end.finish()
    }
    try process.run()
    self.leader = leader
    self.process = process
    self.emulator = emulator
    self.ends = ends
    self.follower = follower
    let reader = Thread { [leader] in
      var bytes = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(leader, &bytes, bytes.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return }
        emulator.withLock { $0.take(bytes.prefix(count)) }
      }
    }
    reader.start()
  }

  /// Kept open, so that the last output can be read after the program's end, and the terminal's state queried.
  private let follower: Int32

  deinit {
    close(follower)
    close(leader)
  }

  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { write(leader, $0.baseAddress, $0.count) }
  }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Resizes the terminal and signals the program, as a terminal does.
  func resize(columns: Int, rows: Int) {
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(leader, UInt(TIOCSWINSZ), &size)
    emulator.withLock { $0.resize(columns: columns, rows: rows) }
    send(SIGWINCH)
  }

  var screen: TerminalScreen { emulator.withLock { $0 } }

  /// Whether keys are echoed and lines are edited, as a shell leaves its terminal.
  var isCooked: Bool {
    var state = termios()
    guard tcgetattr(follower, &state) == 0 else { return false }
    return state.c_lflag & tcflag_t(ICANON) != 0 && state.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Waits for the exit status. To be called once.
  func status() async -> Int32 {
    var status: Int32 = -1
    for await end in ends { status = end }
    return status
  }
}
