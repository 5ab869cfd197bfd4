import Locking
import Social

/// Writes uploads to the disk one piece at a time and below a rate limit, so that a hundred concurrent uploads leave
/// disk and CPU to other requests.
///
/// Accounts take turns, and an account's oldest upload goes first, so that its uploads finish one by one. An upload
/// waits in line only with bytes that have arrived: a slow client delays no other.
final class UploadLine: Sendable {
  /// An upload's place in the line.
  struct Turn: Sendable {
    let account: Int?
    let number: Int
  }

  private let gate = FairGate<Int?>(width: 1)
  private let disk = DiskThreads(count: 1)
  private let pace: Locked<UploadPace>

  init(bytesPerSecond: Double) {
    pace = Locked(UploadPace(bytesPerSecond: bytesPerSecond, burst: 4_000_000, at: .now))
  }

  /// - Parameter account: the uploading account; nil if the uploader has none yet.
  func begin(for account: Int?) -> Turn { Turn(account: account, number: gate.number()) }

  /// Runs the work for a piece on a separate thread when its turn comes.
  func write(_ bytes: Int, as turn: Turn, _ work: @escaping @Sendable () throws -> Void) async throws {
    try await gate.pass(for: turn.account, number: turn.number) {
      let begin = pace.withLock { $0.use(bytes, at: .now) }
      try await Task.sleep(until: begin)
      try await disk.run(work)
    }
  }
}
