import Foundation
import TestSupport
import Testing

@testable import Social

@Suite struct ZipWriterTests {
  private func withPath<Result>(_ body: (String) throws -> Result) throws -> Result {
    let path = NSTemporaryDirectory() + "fanmill-zip-\(UUID().uuidString)"
    defer { unlink(path) }
    return try body(path)
  }

  @Test func checksumsAreThoseOfTheStandard() {
    var checksum = CRC32()
    Array("123456789".utf8).withUnsafeBytes { checksum.update($0) }
    #expect(checksum.value == 0xCBF4_3926)
    #expect(CRC32().value == 0)
  }

  @Test func writesWhatUnzipReads() throws {
    var generator = SeededGenerator("ZipWriterTests")
    let large = (0..<300_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    try withPath { path in
      let zip = try ZipWriter(path: path, at: Date(timeIntervalSince1970: 1_700_000_000))
      try zip.begin("a.json")
      for start in stride(from: 0, to: large.count, by: 7001) {
        try zip.write(Array(large[start..<min(start + 7001, large.count)]))
      }
      try zip.end()
      try zip.begin("이름/empty")
      try zip.end()
      #expect(try !zip.add("missing", from: "/nowhere/at-all"))
      let size = try zip.finish()
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      #expect(bytes.count == size)
      // The local header, its name, and the bytes as they are.
      #expect(Array(bytes[0..<4]) == [0x50, 0x4B, 3, 4])
      #expect(Array(bytes[30..<36]) == Array("a.json".utf8))
      #expect(Array(bytes[36..<(36 + large.count)]) == large)
      var checksum = CRC32()
      large.withUnsafeBytes { checksum.update($0) }
      let stored = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[14 + $1]) << UInt32(8 * $1) }
      #expect(stored == checksum.value)
      let end = bytes.suffix(22)
      #expect(end.starts(with: [0x50, 0x4B, 5, 6]))
      #expect(bytes[size - 12] == 2 && bytes[size - 11] == 0)
    }
  }

  @Test func refusesWhatIsTooLarge() throws {
    try withPath { path in
      let zip = try ZipWriter(path: path, at: .now, limit: 100)
      try zip.begin("a")
      let error = #expect(throws: ArchiveError.self) { try zip.write([UInt8](repeating: 1, count: 90)) }
      #expect(error?.code == .tooLarge)
    }
  }

  @Test func overwritesNothing() throws {
    try withPath { path in
      try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
      let error = #expect(throws: ArchiveError.self) { _ = try ZipWriter(path: path, at: .now) }
      #expect(error?.code == .unwritable)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }
  }
}
