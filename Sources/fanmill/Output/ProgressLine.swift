import Foundation
import Locking

/// A line on the terminal that tells how far something is; nothing where the standard error output is no terminal.
final class ProgressLine: Sendable {
  private struct State {
    var shown = ""
    var drawn: ContinuousClock.Instant?
  }

  private let state = Locked(State())
  private let isShown: Bool
  private static let barWidth = 24

  init(isShown: Bool = Terminal.showsProgress) { self.isShown = isShown }

  /// - Parameter share: how much is done, 0–1.
  func show(_ share: Double, _ what: String) {
    guard isShown else { return }
    let filled = Int((Double(Self.barWidth) * min(max(share, 0), 1)).rounded())
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
    draw("\(bar) \(what)", isForced: share >= 1)
  }

  /// Takes the line away.
  func clear() {
    guard isShown else { return }
    draw("", isForced: true)
  }

  private func draw(_ line: String, isForced: Bool) {
    let now = ContinuousClock.now
    let isDue = state.withLock { state in
      if let drawn = state.drawn, now - drawn < .milliseconds(50), !isForced { return false }
      state = State(shown: line, drawn: now)
      return true
    }
    // Carriage return, the line, and "erase to the end of the line" (ECMA-48, EL).
    if isDue { FileHandle.standardError.write(Data("\r\(line)\u{1B}[K".utf8)) }
  }
}
