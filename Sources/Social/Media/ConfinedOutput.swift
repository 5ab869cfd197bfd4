import CLinux
import Glibc

/// A pipe that takes a child's output, of which the end is kept.
struct ConfinedOutput: ~Copyable {
  private static let limit = 8192

  private(set) var writeEnd: Int32
  /// -1 after its end: poll passes over it.
  private var readEnd: Int32
  private var tail: [UInt8] = []

  init() throws(ConfinementError) {
    var ends: [Int32] = [-1, -1]
    guard fanmill_pipe(&ends) == 0 else { throw ConfinementError(step: "pipe", number: errno) }
    (readEnd, writeEnd) = (ends[0], ends[1])
    // The child's own end still blocks.
    _ = fcntl(readEnd, F_SETFL, O_NONBLOCK)
  }

  deinit {
    if writeEnd >= 0 { close(writeEnd) }
    if readEnd >= 0 { close(readEnd) }
  }

  var text: String { String(decoding: tail, as: UTF8.self) }

  /// The child alone has it now.
  mutating func closeWriteEnd() {
    close(writeEnd)
    writeEnd = -1
  }

  /// Reads until the process of `child`, a pidfd, has ended; false if it has not at `deadline`.
  mutating func follow(until child: Int32, or deadline: ContinuousClock.Instant) -> Bool {
    while true {
      let left = max(.zero, deadline - .now)
      let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
      var sources = [
        pollfd(fd: child, events: Int16(POLLIN), revents: 0), pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
      ]
      _ = poll(&sources, nfds_t(sources.count), Int32(clamping: milliseconds))
      if sources[0].revents != 0 { return true }
      // Before reading: a child that writes without end must not hold this up.
      if .now >= deadline { return false }
      if sources[1].revents != 0 { _ = readSome() }
    }
  }

  /// Reads what the pipe still has. Nobody writes any more.
  mutating func readRest() { while readSome() {} }

  /// Whether there may be more.
  private mutating func readSome() -> Bool {
    guard readEnd >= 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = read(readEnd, &buffer, buffer.count)
    if count > 0 {
      tail = Array((tail + buffer[..<count]).suffix(Self.limit))
      return true
    }
    if count < 0, errno == EINTR { return true }
    if count < 0, errno == EAGAIN { return false }
    close(readEnd)
    readEnd = -1
    return false
  }
}
