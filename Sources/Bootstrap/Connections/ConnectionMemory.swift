import CLinux

/// Gives the memory that connections have freed back to the system.
///
/// It lies between what others still use, and the allocator keeps it until it is told: after 4,000 connections at once a
/// process had kept 57 MB for good, and 10,000 event streams that open at once leave as much behind as they need.
public struct ConnectionMemory: Sendable {
  let book: ConnectionBook

  /// Lets the allocator divide the heap among a few threads and not, as it does by itself, among eight a processor: each
  /// division keeps what it has freed. 10,000 event streams take 241 MB instead of 253. To be called first.
  public static func keepTogether() { mallopt(M_ARENA_MAX, 2) }

  /// So many hold about 4 MB. With fewer it is not worth a walk through the heap.
  static let worthwhile = 256

  /// Runs until cancelled.
  func run() async {
    while !Task.isCancelled {
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
      if book.takeChanged(atLeast: Self.worthwhile) { malloc_trim(0) }
    }
  }
}
