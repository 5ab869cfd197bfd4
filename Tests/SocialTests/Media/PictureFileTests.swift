import TestSupport
import Testing

@testable import Social

/// The rewritten containers, from literal bytes.
@Suite struct PictureFileTests {
  private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    type.utf8 + HeaderBytes.little(UInt32(content.count), 4) + content + [UInt8](repeating: 0, count: content.count % 2)
  }

  private func webp(_ chunks: [UInt8]...) -> [UInt8] {
    let all = chunks.flatMap { $0 }
    return "RIFF".utf8 + HeaderBytes.little(UInt32(4 + all.count), 4) + "WEBP".utf8 + all
  }

  @Test func webPKeepsItsPictureAlone() throws {
    let sides: [UInt8] = [0, 0, 0, 9, 0, 0, 9, 0, 0]
    let file = webp(
      chunk("VP8X", [0x3E] + sides), chunk("ICCP", [1, 2, 3]), chunk("ALPH", [4]), chunk("VP8 ", [5, 6, 7]),
      chunk("EXIF", [8]), chunk("XMP ", [9, 9]), chunk("ABCD", []))
    let cleaned = webp(chunk("VP8X", [0x10] + sides), chunk("ALPH", [4]), chunk("VP8 ", [5, 6, 7]))
    #expect(try WebPFile(file).bytes == cleaned)
    #expect(try WebPFile(cleaned).bytes == cleaned)
  }

  @Test func damagedWebPIsRefused() {
    let good = webp(chunk("VP8 ", [5, 6, 7, 8]))
    for file in [
      [], Array(good.dropLast()), good + [0], webp(), webp(chunk("EXIF", [1, 2])), webp([0x56, 0x50]),
      webp("VP8 ".utf8 + HeaderBytes.little(.max, 4) + [1, 2]), webp(chunk("VP8X", [1]), chunk("VP8 ", [1])),
    ] {
      #expect(throws: PictureRefusal.malformed(.webp)) { try WebPFile(file) }
    }
  }

  private let scan = HeaderBytes.segment(0xDA, [1, 2]) + [0x11, 0xFF, 0x00, 0xE1, 0xFF, 0xD3, 0x22]

  @Test func jpegKeepsItsPictureAlone() throws {
    let tables = HeaderBytes.segment(0xDB, [1]) + HeaderBytes.segment(0xC2, [2]) + HeaderBytes.segment(0xC4, [3])
    let jfif = HeaderBytes.segment(0xE0, Array("JFIF\0".utf8) + [1, 2])
    let adobe = HeaderBytes.segment(0xEE, Array("Adobe".utf8) + [1])
    let more = HeaderBytes.segment(0xFE, [9])
    let file =
      [0xFF, 0xD8] + jfif + HeaderBytes.segment(0xE0, Array("JFXX\0".utf8)) + SecretBytes.segments(orientation: 1)
      + adobe + HeaderBytes.segment(0xEE, [7]) + tables + [0xFF] + more + scan + more + HeaderBytes.segment(0xC4, [4])
      + scan + [0xFF, 0xD9] + "<?php".utf8
    let cleaned =
      [0xFF, 0xD8] + jfif + adobe + tables + scan + HeaderBytes.segment(0xC4, [4]) + scan + [0xFF, 0xD9]
    #expect(try JPEGFile(file).bytes == cleaned)
    #expect(try JPEGFile(cleaned).bytes == cleaned)
  }

  @Test func damagedJPEGIsRefused() {
    for file in [
      [], [0xFF, 0xD8], [0xFF, 0xD8, 0xFF], [0xFF, 0xD8, 0xFF, 0xFF, 0xFF], [0xFF, 0xD8, 0xFF, 0xE0, 0, 1],
      [0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF, 1], [0xFF, 0xD8, 0x00, 0xE0, 0, 2], [0xFF, 0xD8] + scan,
      [0xFF, 0xD8] + scan + [0xFF],
    ] {
      #expect(throws: PictureRefusal.malformed(.jpeg)) { try JPEGFile(file) }
    }
  }

  @Test func mutatedFilesAreRewrittenOrRefused() {
    var generator = SeededGenerator("PictureFileTests")
    let jpeg = [0xFF, 0xD8] + SecretBytes.segments(orientation: 3) + scan + [0xFF, 0xD9]
    let webp = webp(chunk("VP8X", [UInt8](repeating: 1, count: 10)), chunk("VP8 ", [5, 6, 7]), chunk("EXIF", [8]))
    var refused = 0
    for round in 0..<20_000 {
      var bytes = round % 2 == 0 ? jpeg : webp
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
      }
      if round % 3 == 0 { bytes.removeLast(Int.random(in: 0...bytes.count, using: &generator)) }
      do {
        if round % 2 == 0 { _ = try JPEGFile(bytes) } else { _ = try WebPFile(bytes) }
      } catch {
        refused += 1
      }
    }
    #expect((1..<20_000).contains(refused))
  }
}
