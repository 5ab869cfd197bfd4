import DurableJobsAdmin
import Foundation
import Glibc
import Locking

/// The whole terminal, as long as a live view has it: the alternate screen, keys as they are struck, no cursor.
///
/// `leave` gives the terminal back as it was; call it however the view ends.
final class Screen: Sendable {
  /// How the terminal was before; nil while it is its owner's.
  private let saved = Locked<termios?>(nil)

  /// - Throws: `.usage` where there is no terminal, or one that cannot move its cursor.
  init() throws(OperationError) {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
      throw OperationError(.usage, "a live screen needs a terminal; `stats` and the lists print to anything")
    }
    let term = ProcessInfo.processInfo.environment["TERM"] ?? ""
    guard !term.isEmpty, term != "dumb" else {
      throw OperationError(.usage, "a live screen needs a terminal that moves its cursor; TERM is '\(term)'")
    }
  }

  var size: (columns: Int, rows: Int) { Terminal.size(of: STDOUT_FILENO) ?? (80, 24) }

  func enter() {
    var state = termios()
    guard tcgetattr(STDIN_FILENO, &state) == 0 else { return }
    let isFirst = saved.withLock { saved in
      defer { saved = saved ?? state }
      return saved == nil
    }
    guard isFirst else { return }
    // Keys one by one, not shown, none of them a signal. What is written still has its line ends made.
    state.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    state.c_iflag &= ~tcflag_t(IXON | ICRNL)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &state)
    // xterm's alternate screen (1049), no cursor (25), no wrapping (7), all erased.
    write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J")
  }

  func leave() {
    let state = saved.withLock { saved in
      defer { saved = nil }
      return saved
    }
    guard var state else { return }
    write("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &state)
  }

  /// Draws all lines over what is there, in one write, so that nothing flickers.
  func draw(_ lines: [String]) {
    let rows = lines.prefix(size.rows).map { $0 + "\u{1B}[K" }
    write("\u{1B}[H" + rows.joined(separator: "\r\n") + "\u{1B}[J")
  }

  private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
