import CLinux
import Cryptography
import Glibc
import Social

/// The file that receives an upload. It has no name, so the kernel removes it if the process is killed.
struct IncomingFile: ~Copyable {
  /// A file could not be created or written.
  struct Failure: Error, CustomStringConvertible {
    let what: String
    let number: Int32

    /// Whether the disk or the quota is full.
    var isFull: Bool { number == ENOSPC || number == EDQUOT }
    var description: String { "\(what): \(String(cString: strerror(number)))" }
  }

  /// The most bytes that may await write-back: few enough that commits, which queue behind them, are not delayed.
  private static let maxUnwritten = 1 << 18

  private let descriptor: Int32
  private(set) var count = 0
  /// The number of bytes already on disk.
  private var written = 0

  /// - Parameter folder: an absolute path.
  init(in folder: String) throws(Failure) {
    let nameless = fanmill_open_nameless(folder)
    guard nameless < 0 else {
      descriptor = nameless
      return
    }
    let name = "\(folder)/incoming-\([UInt8].random(count: 16).hexadecimal)"
    descriptor = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure(what: "an upload cannot be received in \(folder)", number: errno) }
    guard unlink(name) == 0 else {
      close(descriptor)
      throw Failure(what: "an upload cannot be received in \(folder)", number: errno)
    }
  }

  deinit { close(descriptor) }

  /// The picture's header, read from its bytes.
  ///
  /// - Throws: `PictureRefusal`.
  func header() throws -> PictureHeader { try PictureHeader(descriptor: descriptor) }

  /// The path to read it at while this value lives.
  var path: String { "/proc/self/fd/\(descriptor)" }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw Failure(what: "an upload cannot be written", number: errno) }
      rest = rest.dropFirst(written)
    }
    count += bytes.count
  }

  /// Writes pending bytes to the disk once there are enough of them. An upload that waits in `line` stops reading,
  /// which makes its client wait too.
  mutating func writeBack(through line: UploadLine, as turn: UploadLine.Turn) async throws {
    guard count - written >= Self.maxUnwritten else { return }
    let (descriptor, start, length) = (descriptor, written, count - written)
    try await line.write(length, as: turn) {
      guard fanmill_write_back(descriptor, Int64(start), Int64(length)) == 0 else {
        throw Failure(what: "an upload cannot be written", number: errno)
      }
    }
    written += length
  }
}
