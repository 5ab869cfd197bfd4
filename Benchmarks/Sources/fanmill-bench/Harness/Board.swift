import CRawLimits
import Foundation

/// Memory shared by the benchmark and its worker child, so that counting costs the child one instruction per job.
final class Board: @unchecked Sendable {
  // `@unchecked Sendable`: the pointer is a constant, and its target is updated with atomic instructions.
  private let board: OpaquePointer
  let path: String

  init(path: String) throws {
    guard let board = bench_board_open(path) else { throw BenchError("\(path) cannot be shared: errno \(errno)") }
    self.board = board
    self.path = path
  }

  func reset() { bench_board_reset(board) }

  func count() { bench_board_count(board) }
  var counted: Int { Int(bench_board_counted(board)) }

  func setReady() { bench_board_set_ready(board) }
  var isReady: Bool { bench_board_is_ready(board) != 0 }

  /// Records a duration, in nanoseconds.
  func sample(_ nanoseconds: Int64) { bench_board_sample(board, nanoseconds) }

  /// The samples in milliseconds, in order.
  var samples: [Double] {
    (0..<bench_board_sample_count(board)).map { Double(bench_board_sample_at(board, $0)) / 1e6 }
  }
}
