import NIOCore
import NIOPosix

/// The loops that HTTP is served on. In a file of its own: their type has the name of the project's.
enum HTTPLoops {
  /// Runs `body` on each of them, soon.
  static func execute(_ body: @escaping @Sendable () -> Void) {
    for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { loop.execute(body) }
  }
}
