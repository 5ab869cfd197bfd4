import CLinux
import Glibc

/// A pipe for a child's output that keeps only the last part.
struct ConfinedOutput: ~Copyable {
  private static let limit = 8192

  private(set) var writeEnd: Int32
  /// -1 after end of file, which poll ignores.
  private var readEnd: Int32
  private var tail: [UInt8] = []

  init() throws(ConfinementError) {
    var ends: [Int32] = [-1, -1]
    guard fanmill_pipe(&ends) == 0 else { throw ConfinementError(step: "pipe", number: errno) }
    (readEnd, writeEnd) = (ends[0], ends[1])
    // Only this end: the child's still blocks.
    _ = fcntl(readEnd, F_SETFL, O_NONBLOCK)
  }

  deinit {
    if writeEnd >= 0 { close(writeEnd) }
    if readEnd >= 0 { close(readEnd) }
  }

  var text: String { String(decoding: tail, as: UTF8.self) }

  /// Closes this process's copy; only the child has the write end now.
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
      // Checked before reading: a child that writes endlessly must not delay this.
      if .now >= deadline { return false }
      if sources[1].revents != 0 { _ = readSome() }
    }
  }

  /// Reads what is left in the pipe, after all writers have ended.
  mutating func readRest() { while readSome() {} }

  /// Whether more may be available.
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
