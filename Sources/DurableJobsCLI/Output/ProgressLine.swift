import Foundation
import Locking

/// A terminal line that shows the progress of a slow operation. It prints nothing if standard error is not a terminal.
package final class ProgressLine: Sendable {
  private struct State {
    var drawn: ContinuousClock.Instant?
  }

  private let state = Locked(State())
  private let isShown: Bool
  private let start = ContinuousClock.now
  private static let barWidth = 24
  /// The time before the line appears, so that short operations show none.
  private static let patience = Duration.seconds(1)

  package init(isShown: Bool = Terminal.errors.isTerminal) { self.isShown = isShown }

  /// - Parameter share: the completed fraction, 0–1.
  package func show(_ share: Double, _ what: String) {
    guard isShown else { return }
    let filled = Int((Double(Self.barWidth) * min(max(share, 0), 1)).rounded())
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
    draw("\(bar) \(what)", isForced: share >= 1)
  }

  /// - Parameter total: the expected count; nil if unknown.
  package func show(_ done: Int, of total: Int?, _ what: String) {
    guard let total, total > 0 else { return draw("\(done.grouped) \(what)", isForced: false) }
    show(Double(done) / Double(total), "\(done.grouped) of \(total.grouped) \(what)")
  }

  /// Erases the line.
  package func clear() {
    guard isShown else { return }
    let wasDrawn = state.withLock { $0.drawn != nil }
    if wasDrawn { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
  }

  private func draw(_ line: String, isForced: Bool) {
    let now = ContinuousClock.now
    guard isShown, now - start >= Self.patience else { return }
    let isDue = state.withLock { state in
      if let drawn = state.drawn, now - drawn < .milliseconds(50), !isForced { return false }
      state.drawn = now
      return true
    }
    if !isDue { return }
    // A wrapped line could not be overwritten.
    let text = Terminal.errors.columns.map { line.cut(to: $0 - 1) } ?? line
    // Carriage return, the line, and "erase to the end of the line" (ECMA-48, EL).
    FileHandle.standardError.write(Data("\r\(text)\u{1B}[K".utf8))
  }
}
