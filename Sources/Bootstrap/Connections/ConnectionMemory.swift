import CLinux

/// Returns memory freed by connections to the system.
///
/// Freed memory lies between blocks still in use, and the allocator keeps it until asked to return it. Without this, a
/// process kept 57 MB after 4,000 simultaneous connections, and 10,000 event streams that open at once leave behind as
/// much memory as they need.
public struct ConnectionMemory: Sendable {
  let book: ConnectionBook

  /// Limits the allocator to two arenas instead of its default of eight per processor, because each arena keeps its
  /// freed memory. 10,000 event streams take 241 MB instead of 253. Must be called first.
  public static func keepTogether() { mallopt(M_ARENA_MAX, 2) }

  /// This many connections hold about 4 MB; fewer are not worth a walk through the heap.
  static let worthwhile = 256

  /// Runs until cancelled.
  func run() async {
    while !Task.isCancelled {
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
      if book.takeChanged(atLeast: Self.worthwhile) { malloc_trim(0) }
    }
  }
}
