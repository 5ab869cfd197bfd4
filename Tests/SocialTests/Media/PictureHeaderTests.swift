import Foundation
import TestSupport
import Testing

@testable import Social

@Suite struct PictureHeaderTests {
  private let folder: PictureFolder

  init() throws { folder = try PictureFolder() }

  private func header(_ bytes: [UInt8]) throws -> PictureHeader {
    try PictureHeader(path: folder.write(bytes, to: "picture"))
  }

  private func refusal(_ bytes: [UInt8]) throws -> PictureRefusal? {
    do {
      _ = try header(bytes)
      return nil
    } catch let refusal as PictureRefusal {
      return refusal
    }
  }

  private func expect(_ bytes: [UInt8], _ format: PictureFormat, _ width: Int, _ height: Int) throws {
    let found = try header(bytes)
    #expect(found.format == format && found.width == width && found.height == height, "\(found)")
  }

  @Test func sizesStandInTheHeadersOfAllFormats() throws {
    try expect(HeaderBytes.png(640, 480), .png, 640, 480)
    try expect(HeaderBytes.jpeg(640, 480), .jpeg, 640, 480)
    try expect(HeaderBytes.gif(640, 480), .gif, 640, 480)
    try expect(HeaderBytes.extendedWebP(640, 480), .webp, 640, 480)
    // Lossless: 14 bits each, less one. Lossy: the two upper bits scale.
    try expect(HeaderBytes.webp("VP8L", [0x2F] + HeaderBytes.little(639 | 479 << 14, 4)), .webp, 640, 480)
    let lossy = [0x10, 0, 0, 0x9D, 0x01, 0x2A] + HeaderBytes.little(640 | 1 << 14, 2) + HeaderBytes.little(480, 2)
    try expect(HeaderBytes.webp("VP8 ", lossy), .webp, 640, 480)
    // The largest, in any order: tiles and a preview are smaller.
    try expect(HeaderBytes.heic([(512, 512), (640, 480), (160, 120)]), .heic, 640, 480)
    try expect(HeaderBytes.heic([(640, 480)], major: "mif1", compatible: ["mif1"]), .heic, 640, 480)
  }

  @Test func encodersAgree() throws {
    guard PictureWorkshop.isAvailable else { return }
    for (name, format) in [
      ("a.jpg", PictureFormat.jpeg), ("a.png", .png), ("a.webp", .webp), ("a.gif", .gif), ("a.heic", .heic),
    ] {
      let found = try PictureHeader(path: folder.picture(name, 96, 64))
      #expect(found.format == format && found.width == 96 && found.height == 64, "\(name): \(found)")
    }
    let lossless = try PictureHeader(path: folder.picture("b.webp", 96, 64, options: "[lossless]"))
    #expect(lossless.width == 96 && lossless.height == 64)
  }

  @Test func jpegSegmentsAreSteppedOver() throws {
    let long = HeaderBytes.segment(0xE1, [UInt8](repeating: 0xC0, count: 65_533))
    let before = [0xFF, 0xFF] + HeaderBytes.segment(0xE0, Array("JFIF".utf8)) + long + long + [0xFF, 0x01]
    try expect(HeaderBytes.jpeg(33, 44, before: before), .jpeg, 33, 44)
    try expect(HeaderBytes.jpeg(33, 44, before: before, frame: 0xC2), .jpeg, 33, 44)
    let many = (0..<600).flatMap { _ in HeaderBytes.segment(0xFE, []) }
    #expect(try refusal(HeaderBytes.jpeg(33, 44, before: many)) == .malformed(.jpeg))
    // The data of the picture before its size, a segment shorter than its length, no marker.
    for segment in [HeaderBytes.segment(0xDA, [1]), [0xFF, 0xE0, 0, 1], [0x00, 0x00, 0x00, 0x00]] {
      let before = HeaderBytes.segment(0xE0, []) + segment
      #expect(try refusal(HeaderBytes.jpeg(33, 44, before: before)) == .malformed(.jpeg))
    }
  }

  @Test func aFileInThreeColoursWithoutAProfileIsPlain() throws {
    func isPlain(_ bytes: [UInt8]) throws -> Bool {
      try PictureHeader(path: folder.write(bytes, to: "picture")).isPlainRGB
    }
    func frame(_ components: UInt8) -> [UInt8] {
      HeaderBytes.segment(0xC0, [8, 0, 44, 0, 33, components] + [UInt8](repeating: 0, count: 3 * Int(components)))
    }
    let start: [UInt8] = [0xFF, 0xD8]
    let (scan, profile) = (HeaderBytes.segment(0xDA, [1]), HeaderBytes.segment(0xE2, Array("ICC_PROFILE\0".utf8)))
    #expect(try isPlain(start + frame(3) + scan))
    #expect(try !isPlain(start + profile + frame(3) + scan))
    #expect(try !isPlain(start + frame(3) + profile + scan))
    #expect(try !isPlain(start + frame(1) + scan))
    #expect(try !isPlain(start + frame(4) + scan))
    // A damaged file is not known to be plain.
    #expect(try !isPlain(start + frame(3) + [0xFF, 0xE0, 0, 1]))
    #expect(try !isPlain(start + frame(3)))
  }

  @Test func aTailAfterThePictureChangesNothing() throws {
    // Only re-encoded pictures are served.
    let php = Array("<?php system($_GET['c']); ?><script>alert(1)</script>".utf8)
    try expect(HeaderBytes.jpeg(33, 44) + php, .jpeg, 33, 44)
    try expect(HeaderBytes.jpeg(33, 44, before: HeaderBytes.segment(0xFE, php)), .jpeg, 33, 44)
  }

  @Test(arguments: [
    "<svg xmlns='http://www.w3.org/2000/svg'/>", "<?xml version='1.0'?><svg/>", "%PDF-1.7\n",
    "II*\u{0}\u{8}\u{0}\u{0}\u{0}",
    "MM\u{0}*\u{0}\u{0}\u{0}\u{8}", "BM and more than that, a bitmap", "just text", "x", "<?php system('id'); ?>",
    "RIFF\u{0}\u{0}\u{0}\u{0}WAVEfmt and so on and on and on", "\u{0}\u{0}\u{0}\u{C}jP  ",
    "#!/bin/sh\necho", "push graphic-context\nviewbox 0 0 640 480",
  ])
  func otherFormatsAreUnsupported(_ text: String) throws {
    #expect(try refusal(Array(text.utf8)) == .unknownFormat)
  }

  @Test func otherFilesOfHEICsContainerAreUnsupported() throws {
    #expect(try refusal(HeaderBytes.heic([(9, 9)], major: "avif", compatible: ["mif1", "avif"])) == .unknownFormat)
    #expect(try refusal(HeaderBytes.heic([(9, 9)], major: "isom", compatible: ["mp42"])) == .unknownFormat)
    #expect(PictureRefusal.unknownFormat.code == "unsupported_media")
  }

  @Test func headersThatAreCutOffAreBroken() throws {
    #expect(try refusal([])?.code == "broken_media")
    let lossy = HeaderBytes.webp("VP8 ", [0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 64, 0])
    let whole = [
      (HeaderBytes.png(64, 64), 8), (HeaderBytes.jpeg(64, 64, before: HeaderBytes.segment(0xE0, [1, 2])), 3),
      (HeaderBytes.gif(64, 64), 6), (lossy, 12), (HeaderBytes.heic([(64, 64)]), 8),
    ]
    for (bytes, signature) in whole {
      for count in signature..<bytes.count where try refusal(Array(bytes[..<count])) == nil {
        // PNG's checksum and JPEG's components are checked by the decoder.
        #expect(count >= bytes.count - 4, "\(count) of \(bytes)")
      }
      #expect(try refusal(Array(bytes[..<(signature + 1)]))?.code == "broken_media")
    }
  }

  @Test func sidesAndAreasHaveLimits() throws {
    try expect(HeaderBytes.png(8000, 5000), .png, 8000, 5000)
    try expect(HeaderBytes.png(65_535, 610), .png, 65_535, 610)
    #expect(try refusal(HeaderBytes.png(8000, 5001)) == .tooManyPixels(width: 8000, height: 5001))
    #expect(try refusal(HeaderBytes.png(70_000, 70_000)) == .tooManyPixels(width: 70_000, height: 70_000))
    #expect(try refusal(HeaderBytes.png(65_536, 1)) == .tooManyPixels(width: 65_536, height: 1))
    #expect(try refusal(HeaderBytes.png(.max, .max)) == .tooManyPixels(width: Int(UInt32.max), height: Int(UInt32.max)))
    #expect(try refusal(HeaderBytes.heic([(.max, .max), (64, 64)]))?.code == "broken_media")
    #expect(try refusal(HeaderBytes.jpeg(.max, .max)) == .tooManyPixels(width: 65_535, height: 65_535))
    #expect(try refusal(HeaderBytes.extendedWebP(1 << 24, 1 << 24))?.code == "broken_media")
    for empty in [HeaderBytes.png(0, 9), HeaderBytes.jpeg(9, 0), HeaderBytes.gif(0, 0), HeaderBytes.heic([(0, 7)])] {
      #expect(try refusal(empty)?.code == "broken_media")
    }
    #expect(PictureRefusal.tooManyPixels(width: 8000, height: 5001).message.contains("8000 × 5001"))
  }

  @Test func boxesOfHEICKeepToTheirBounds() throws {
    let brands = HeaderBytes.box("ftyp", Array("heic".utf8) + [0, 0, 0, 0])
    func meta(_ inner: [UInt8]) -> [UInt8] { brands + HeaderBytes.box("meta", [0, 0, 0, 0] + inner) }
    let size = HeaderBytes.box("ispe", [0, 0, 0, 0] + HeaderBytes.big(UInt32(64)) + HeaderBytes.big(UInt32(48)))
    // 64-bit lengths are valid, and a length of 0 reaches to the end.
    let large = HeaderBytes.big(UInt32(1)) + "iprp".utf8 + HeaderBytes.big(UInt32(0))
    try expect(
      meta(large + HeaderBytes.big(UInt32(24 + size.count)) + HeaderBytes.box("ipco", size)), .heic, 64, 48)
    try expect(meta(HeaderBytes.box("iprp", HeaderBytes.big(UInt32(0)) + "ipco".utf8 + size)), .heic, 64, 48)
    // Longer than the enclosing box, shorter than its own header, 2^64 bytes, too many boxes.
    let most = HeaderBytes.big(UInt32.max)
    for bytes in [
      meta(most + "iprp".utf8 + HeaderBytes.box("ipco", size)), meta(HeaderBytes.big(UInt32(7)) + "iprp".utf8),
      meta(HeaderBytes.big(UInt32(1)) + "iprp".utf8 + most + most), brands + HeaderBytes.box("meta", []),
      meta(HeaderBytes.box("iprp", HeaderBytes.box("ipco", HeaderBytes.box("ispe", [0])))),
      brands + (0..<3000).flatMap { _ in HeaderBytes.box("free", []) } + meta(HeaderBytes.box("iprp", size)),
    ] {
      #expect(try refusal(bytes) == .malformed(.heic))
    }
  }

  @Test func filesThatCannotBeReadAreNotTheClientsFault() throws {
    #expect(throws: MediaFileError.self) { try PictureHeader(path: folder["none"]) }
    #expect(throws: MediaFileError.self) { try PictureHeader(path: folder.path) }
    let picture = try folder.write(HeaderBytes.png(9, 9), to: "picture")
    try FileManager.default.createSymbolicLink(atPath: folder["link"], withDestinationPath: picture)
    #expect(throws: MediaFileError.self) { try PictureHeader(path: folder["link"]) }
  }

  @Test(.timeLimit(.minutes(5))) func mutatedHeadersAreReadOrRefused() throws {
    var generator = SeededGenerator("PictureHeaderTests")
    let lossy = HeaderBytes.webp("VP8 ", [0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 64, 0])
    let seeds = [
      HeaderBytes.png(64, 48), HeaderBytes.jpeg(64, 48, before: HeaderBytes.segment(0xE0, [1, 2, 3])),
      HeaderBytes.gif(64, 48), HeaderBytes.extendedWebP(64, 48), HeaderBytes.webp("VP8L", [0x2F, 63, 0, 12, 0]), lossy,
      HeaderBytes.heic([(64, 48), (32, 32)]),
    ]
    let extremes: [UInt8] = [0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF]
    var accepted = 0
    for round in 0..<14_000 {
      var bytes = seeds[round % seeds.count]
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        let index = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: bytes[index] = .random(in: 0...255, using: &generator)
        case 1:
          for offset in index..<min(index + 4, bytes.count) {
            bytes[offset] = extremes.randomElement(using: &generator) ?? 0
          }
        case 2 where bytes.count > 1: bytes.removeSubrange(index...)
        case 3: bytes.insert(contentsOf: bytes[..<index].suffix(12), at: index)
        default: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        }
        if bytes.isEmpty { bytes = [0xFF] }
      }
      do {
        let found = try header(bytes)
        accepted += 1
        #expect(found.width > 0 && found.height > 0 && found.width * found.height <= PictureHeader.pixelLimit)
      } catch is PictureRefusal {}
    }
    #expect(accepted > 0)
  }

  @Test func sizesFitIntoTheirSquares() {
    func size(_ size: PictureSize, _ width: Int, _ height: Int) -> [Int] {
      let fitted = size.fitted(width: width, height: height)
      return [fitted.width, fitted.height]
    }
    #expect(size(.full, 4000, 3000) == [2048, 1536])
    #expect(size(.feed, 3000, 4000) == [810, 1080])
    #expect(size(.thumb, 1000, 333) == [320, 107])
    #expect(size(.thumb, 320, 200) == [320, 200])
    #expect(size(.full, 7, 5) == [7, 5])
    #expect(size(.thumb, 65_535, 1) == [320, 1])
    #expect(size(.thumb, 321, 320) == [320, 319])
  }
}
