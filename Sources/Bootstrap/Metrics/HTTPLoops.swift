import NIOCore
import NIOPosix

/// The event loops that serve HTTP. They have a separate file because their type's name collides with the project's.
enum HTTPLoops {
  /// Runs `body` on each loop, soon.
  static func execute(_ body: @escaping @Sendable () -> Void) {
    for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { loop.execute(body) }
  }
}
