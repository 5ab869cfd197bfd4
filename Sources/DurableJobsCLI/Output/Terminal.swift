import Foundation
import Glibc

/// The properties of a stream's destination.
package struct Terminal: Sendable {
  package let isTerminal: Bool
  /// The maximum length of a line; nil for no limit.
  package let columns: Int?
  package let isColored: Bool

  package static let output = Terminal(STDOUT_FILENO)
  package static let errors = Terminal(STDERR_FILENO)

  private init(_ descriptor: Int32) {
    self.init(
      isTerminal: isatty(descriptor) == 1, size: Self.size(of: descriptor)?.columns,
      environment: ProcessInfo.processInfo.environment)
  }

  /// - Parameters:
  ///   - size: the width that the terminal reports.
  ///   - environment: `COLUMNS` applies if the terminal reports no size; `NO_COLOR` (no-color.org) and `TERM=dumb` turn
  ///     colours off.
  package init(isTerminal: Bool, size: Int?, environment: [String: String]) {
    self.isTerminal = isTerminal
    let said = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    columns = (isTerminal ? size : nil) ?? said
    let term = environment["TERM"] ?? ""
    isColored = isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && !term.isEmpty && term != "dumb"
  }

  /// The size of the terminal behind a descriptor; nil if it is no terminal, or reports no size.
  package static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
    var size = winsize()
    guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
    else { return nil }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Whether there is a terminal for questions and answers.
  package static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }
}
