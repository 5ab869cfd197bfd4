import DurableJobsAdmin
import Foundation
import Glibc
import Locking

/// The whole terminal while a live view owns it: alternate screen, unbuffered keys, no cursor.
///
/// `leave` restores the terminal; call it however the view ends.
final class Screen: Sendable {
  /// The terminal's settings before; nil while no view owns it.
  private let saved = Locked<termios?>(nil)

  /// - Throws: `.usage` without a terminal, or with one that cannot move its cursor.
  init() throws(OperationError) {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
      throw OperationError(.usage, "a live screen needs a terminal; `stats` and the lists do not")
    }
    let term = ProcessInfo.processInfo.environment["TERM"] ?? ""
    guard !term.isEmpty, term != "dumb" else {
      throw OperationError(.usage, "a live screen needs a terminal that can move its cursor; TERM is '\(term)'")
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
    // Keys one at a time, without echo or signals. Output line endings are still translated.
    state.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    state.c_iflag &= ~tcflag_t(IXON | ICRNL)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &state)
    // xterm's alternate screen (1049), no cursor (25), no wrapping (7), cleared.
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

  /// Overwrites all lines in one write, so that nothing flickers.
  func draw(_ lines: [String]) {
    let rows = lines.prefix(size.rows).map { $0 + "\u{1B}[K" }
    write("\u{1B}[H" + rows.joined(separator: "\r\n") + "\u{1B}[J")
  }

  private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
