import Foundation
import Glibc

/// Writes a zip file (PKWARE's APPNOTE 6.3) in pieces: entries are stored as they are, since pictures do not shrink.
///
/// Memory holds the names alone. A file of more than 4 GB would need zip64, which is refused. The file is readable by
/// its owner alone. Calls block.
final class ZipWriter {
  private struct Entry {
    let name: [UInt8]
    let offset: UInt32
    var checksum: UInt32 = 0
    var count: UInt32 = 0
  }

  private static let maxBytes = Int(UInt32.max) - 1
  private static let maxEntries = 65_534
  /// Version 2.0, and names in UTF-8.
  private static let version: UInt16 = 20
  private static let flags: UInt16 = 1 << 11

  let path: String
  private let descriptor: Int32
  private let limit: Int
  private let date: UInt16
  private let time: UInt16
  private var entries: [Entry] = []
  private var position = 0
  private var checksum = CRC32()
  private var isInEntry = false
  private var buffer: [UInt8] = []

  /// - Parameters:
  ///   - path: of a file that does not exist.
  ///   - limit: the most bytes, for tests.
  init(path: String, at moment: Date, limit: Int = ZipWriter.maxBytes) throws(ArchiveError) {
    self.path = path
    self.limit = limit
    (date, time) = Self.dosTime(moment)
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.unwritable(path) }
  }

  deinit { close(descriptor) }

  /// Begins a file in the archive. Its bytes follow with `write`.
  ///
  /// - Parameter name: relative, with `/` between folders.
  func begin(_ name: String) throws(ArchiveError) {
    precondition(!isInEntry, "an entry ends before the next begins")
    guard entries.count < Self.maxEntries else { throw tooLarge }
    let bytes = Array(name.utf8.prefix(Int(UInt16.max)))
    entries.append(Entry(name: bytes, offset: UInt32(position)))
    checksum = CRC32()
    isInEntry = true
    // The checksum and the sizes are filled in at the end.
    try put(header(of: entries[entries.count - 1]))
  }

  func write(_ bytes: some Sequence<UInt8>) throws(ArchiveError) {
    try write(Array(bytes))
  }

  func write(_ bytes: [UInt8]) throws(ArchiveError) {
    precondition(isInEntry, "bytes belong to an entry")
    guard position + bytes.count <= limit else { throw tooLarge }
    bytes.withUnsafeBytes { checksum.update($0) }
    entries[entries.count - 1].count += UInt32(bytes.count)
    try put(bytes)
  }

  /// Ends the file that `begin` began.
  func end() throws(ArchiveError) {
    try flush()
    entries[entries.count - 1].checksum = checksum.value
    let entry = entries[entries.count - 1]
    isInEntry = false
    let bytes = header(of: entry)
    let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(entry.offset)) }
    guard count == bytes.count else { throw Self.unwritable(path) }
  }

  /// Adds a local file.
  ///
  /// - Returns: false if it cannot be read.
  func add(_ name: String, from file: String) throws(ArchiveError) -> Bool {
    let input = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard input >= 0 else { return false }
    defer { close(input) }
    try begin(name)
    var piece = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let room = piece.count
      let count = piece.withUnsafeMutableBytes { read(input, $0.baseAddress, room) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw ArchiveError(.unwritable, "cannot read \(file): \(Self.reason)") }
      if count == 0 { break }
      try write(Array(piece[..<count]))
    }
    try end()
    return true
  }

  /// Writes the directory of the files.
  ///
  /// - Returns: the size of the archive, in bytes.
  func finish() throws(ArchiveError) -> Int {
    let start = position
    for entry in entries { try put(directoryEntry(of: entry)) }
    let size = position - start
    guard position + 22 <= limit else { throw tooLarge }
    var end: [UInt8] = []
    end.append(little: UInt32(0x0605_4B50))
    end.append(little: UInt16(0))
    end.append(little: UInt16(0))
    end.append(little: UInt16(entries.count))
    end.append(little: UInt16(entries.count))
    end.append(little: UInt32(size))
    end.append(little: UInt32(start))
    end.append(little: UInt16(0))
    try put(end)
    try flush()
    guard fsync(descriptor) == 0 else { throw Self.unwritable(path) }
    return position
  }

  // MARK: Records

  private func header(of entry: Entry) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(little: UInt32(0x0403_4B50))
    appendCommon(entry, to: &bytes)
    bytes += entry.name
    return bytes
  }

  private func directoryEntry(of entry: Entry) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(little: UInt32(0x0201_4B50))
    // Made on Unix, where the attributes hold the mode of a file.
    bytes.append(little: UInt16(3 << 8 | Self.version))
    appendCommon(entry, to: &bytes)
    bytes.append(little: UInt16(0))
    bytes.append(little: UInt16(0))
    bytes.append(little: UInt16(0))
    bytes.append(little: UInt32(0o100600) << 16)
    bytes.append(little: entry.offset)
    bytes += entry.name
    return bytes
  }

  /// What both records of a file begin with, from the version to the length of the extra field.
  private func appendCommon(_ entry: Entry, to bytes: inout [UInt8]) {
    bytes.append(little: Self.version)
    bytes.append(little: Self.flags)
    bytes.append(little: UInt16(0))
    bytes.append(little: time)
    bytes.append(little: date)
    bytes.append(little: entry.checksum)
    bytes.append(little: entry.count)
    bytes.append(little: entry.count)
    bytes.append(little: UInt16(entry.name.count))
    bytes.append(little: UInt16(0))
  }

  private static func dosTime(_ moment: Date) -> (date: UInt16, time: UInt16) {
    var seconds = time_t(moment.timeIntervalSince1970)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let year = UInt16(min(max(parts.tm_year - 80, 0), 127))
    let date = year << 9 | UInt16(parts.tm_mon + 1) << 5 | UInt16(parts.tm_mday)
    let time = UInt16(parts.tm_hour) << 11 | UInt16(parts.tm_min) << 5 | UInt16(parts.tm_sec / 2)
    return (date, time)
  }

  // MARK: Bytes

  private func put(_ bytes: [UInt8]) throws(ArchiveError) {
    guard position + bytes.count <= limit else { throw tooLarge }
    position += bytes.count
    buffer += bytes
    if buffer.count >= 1 << 16 { try flush() }
  }

  private func flush() throws(ArchiveError) {
    var rest = buffer[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.unwritable(path) }
      rest = rest.dropFirst(count)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  private var tooLarge: ArchiveError {
    ArchiveError(
      .tooLarge, "the archive would have more than \(limit) bytes or \(Self.maxEntries) files, which a zip file cannot")
  }

  private static var reason: String { String(cString: strerror(errno)) }

  private static func unwritable(_ path: String) -> ArchiveError {
    ArchiveError(.unwritable, "cannot write \(path): \(reason)")
  }
}

extension [UInt8] {
  fileprivate mutating func append(little value: UInt16) {
    append(UInt8(truncatingIfNeeded: value))
    append(UInt8(truncatingIfNeeded: value >> 8))
  }

  fileprivate mutating func append(little value: UInt32) {
    append(little: UInt16(truncatingIfNeeded: value))
    append(little: UInt16(truncatingIfNeeded: value >> 16))
  }
}
