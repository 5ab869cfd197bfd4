import Foundation
import Glibc
import TestSupport
import Testing

@testable import Social

@Suite(.enabled(if: PictureWorkshop.isAvailable, "vips is installed"), .timeLimit(.minutes(3)))
struct PictureWorkshopTests {
  private let folder: PictureFolder
  private let output: String

  init() throws {
    folder = try PictureFolder()
    output = try folder.folder("output")
  }

  private func make(_ original: String, _ workshop: PictureWorkshop = PictureWorkshop()) async throws -> Pictures {
    try await workshop.make(from: original, in: output)
  }

  /// Makes pictures of `original`, and checks that their descriptions are true.
  private func made(_ original: String) async throws -> Pictures {
    let pictures = try await make(original)
    #expect(try FileManager.default.contentsOfDirectory(atPath: output).sorted() == Pictures.names.sorted())
    for file in pictures.files {
      let header = try PictureHeader(path: output + "/" + file.name)
      #expect(header.format == file.encoding.format && header.width == file.width && header.height == file.height)
      #expect(try folder.bytes("output/" + file.name).count == file.byteCount)
      let (width, height) = file.size.fitted(width: pictures.width, height: pictures.height)
      #expect(file.width == width && file.height == height)
    }
    return pictures
  }

  private func expectRefusal(
    _ original: String, _ code: String, by workshop: PictureWorkshop = PictureWorkshop(),
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let refusal = try await refusal { try await make(original, workshop) }
    #expect(refusal?.code == code, "\(String(describing: refusal))", sourceLocation: location)
    #expect(refusal?.message.contains("/") != true, sourceLocation: location)
    #expect(try FileManager.default.contentsOfDirectory(atPath: output).isEmpty, sourceLocation: location)
  }

  @Test(arguments: ["jpg", "png", "webp", "gif", "heic"])
  func sixFilesAreMadeOfEachFormat(_ format: String) async throws {
    let pictures = try await made(folder.picture("original." + format, 1300, 700))
    #expect(pictures.width == 1300 && pictures.height == 700)
    #expect(
      pictures.files.filter { $0.encoding == .webp }.map { [$0.width, $0.height] }
        == [[1300, 700], [1080, 582], [320, 172]])
  }

  @Test func picturesAreNeverEnlarged() async throws {
    let pictures = try await made(folder.picture("small.png", 31, 17))
    #expect(pictures.files.allSatisfy { $0.width == 31 && $0.height == 17 })
    let line = try await made(folder.picture("line.png", 5000, 3))
    #expect(line.width == 2048 && line.height == 1)
  }

  @Test func nothingOfTheCameraComesOut() async throws {
    // Red, green, blue and white quarters; stored lying on its side.
    let plain = try folder.picture("plain.jpg", 1200, 800, options: "[Q=95,subsample-mode=off,strip]") { x, y in
      switch (x < 600, y < 400) {
      case (true, true): (200, 60, 60)
      case (false, true): (60, 200, 60)
      case (true, false): (60, 60, 200)
      case (false, false): (128, 128, 128)
      }
    }
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: plain)))
    let original = bytes[..<2] + SecretBytes.segments(orientation: 6) + bytes[2...] + "<?php SECRET-COMMENT ?>".utf8
    let pictures = try await made(folder.write(Array(original), to: "camera.jpg"))
    // Turned by 90° clockwise: the stored bottom left is the top left.
    #expect(pictures.width == 800 && pictures.height == 1200)
    for file in pictures.files {
      let name = "output/" + file.name
      let (right, bottom) = (file.width * 3 / 4, file.height * 3 / 4)
      let (left, top) = (file.width / 4, file.height / 4)
      #expect(close(try folder.pixel(name, left, top), [60, 60, 200], within: 25), "\(name)")
      #expect(close(try folder.pixel(name, right, top), [200, 60, 60], within: 25), "\(name)")
      #expect(close(try folder.pixel(name, left, bottom), [128, 128, 128], within: 6), "\(name)")
      // The same numbers are a stronger red in Display P3 than in sRGB.
      #expect(try folder.pixel(name, right, top)[0] > 207, "\(name)")

      let made = Data(try folder.bytes(name))
      for word in SecretBytes.words + ["Exif", "EXIF", "XMP ", "xmpmeta", "ICCP", "ICC_PROFILE", "8BIM", "acsp"] {
        #expect(made.range(of: Data(word.utf8)) == nil, "\(word) in \(name)")
      }
    }
  }

  private func close(_ found: [Double], _ expected: [Double], within tolerance: Double) -> Bool {
    found.count == expected.count && zip(found, expected).allSatisfy { abs($0 - $1) <= tolerance }
  }

  @Test func transparencyStaysInWebPAndIsWhiteInJPEG() async throws {
    try folder.vips("black", "clear.png", "400", "300", "--bands", "4")
    let pictures = try await made(folder["clear.png"])
    for file in pictures.files {
      let pixel = try folder.pixel("output/" + file.name, 5, 5)
      if file.encoding == .webp {
        #expect(pixel.count == 4 && pixel[3] == 0)
      } else {
        #expect(pixel.allSatisfy { $0 == 255 })
      }
    }
  }

  @Test func onlyTheFirstFrameIsTaken() async throws {
    // 40 frames, of which the first is the darkest.
    for name in ["many.gif", "many.webp"] {
      let original = try folder.picture(name, 200, 4000, options: "[page-height=100]") { _, y in
        let grey = UInt8(y / 100 * 6)
        return (grey, grey, grey)
      }
      let pictures = try await made(original)
      #expect(pictures.width == 200 && pictures.height == 100)
      #expect(try folder.pixel("output/full.jpg", 100, 50).allSatisfy { $0 < 6 })
    }
  }

  @Test func picturesOfOtherColoursComeOutInSRGB() async throws {
    try folder.picture("colour.png", 300, 200)
    try folder.vips("colourspace", "colour.png", "grey.png", "b-w")
    try folder.vips("colourspace", "colour.png", "deep.png", "rgb16")
    try folder.vips("colourspace", "colour.png", "ink.jpg", "cmyk")
    for name in ["grey.png", "deep.png", "ink.jpg"] {
      _ = try await made(folder[name])
      #expect([1, 3].contains(try folder.pixel("output/full.jpg", 9, 9).count), "\(name)")
    }
  }

  @Test func picturesOfTheLargestSizeFitIntoMemory() async throws {
    try folder.vips("black", "bomb.png", "6244", "6244", "--bands", "3")
    #expect(try folder.bytes("bomb.png").count < 300_000)
    _ = try await made(folder["bomb.png"])
    try folder.vips("copy", "bomb.png", "bomb.jpg[interlace,subsample-mode=off]")
    _ = try await made(folder["bomb.jpg"])
  }

  @Test func hostileAndDamagedPicturesAreRefused() async throws {
    try await expectRefusal(folder.write(HeaderBytes.png(30_000, 30_000), to: "huge.png"), "broken_media")
    try await expectRefusal(folder.write(Array("<svg/>".utf8), to: "drawing.png"), "unsupported_media")
    for name in ["whole.jpg", "whole.png", "whole.webp", "whole.gif", "whole.heic"] {
      try folder.picture(name, 600, 400)
      let bytes = try folder.bytes(name)
      try await expectRefusal(folder.write(Array(bytes[..<(bytes.count / 2)]), to: "cut-" + name), "broken_media")
    }
    // A header followed by noise.
    try await expectRefusal(folder.write(HeaderBytes.png(64, 64) + [1, 2, 3, 4], to: "noise.png"), "broken_media")
  }

  @Test func aDecoderThatTakesTooMuchIsEnded() async throws {
    // Interlaced, so it has to be decoded as a whole.
    try folder.vips("black", "bomb.png[interlace]", "6244", "6244", "--bands", "3")
    try await expectRefusal(folder["bomb.png"], "broken_media", by: PictureWorkshop(memory: 200 << 20))
    try await expectRefusal(folder["bomb.png"], "broken_media", by: PictureWorkshop(processorTime: .milliseconds(10)))
    // Only the wall time is exceeded, so the machine may be at fault.
    let error = await #expect(throws: PictureWorkshopError.self) {
      try await make(folder["bomb.png"], PictureWorkshop(wallTime: .milliseconds(10)))
    }
    #expect(error?.code == .starved)
    #expect(try FileManager.default.contentsOfDirectory(atPath: output).isEmpty)
  }

  @Test func troubleOfThisServerIsNoRefusal() async throws {
    let original = try folder.picture("good.png", 64, 64)
    #expect(!PictureWorkshop(program: "/nowhere/vips").isAvailable)
    await #expect(throws: PictureWorkshopError.self) {
      try await make(original, PictureWorkshop(program: "/nowhere/vips"))
    }
    await #expect(throws: MediaFileError.self) { try await make(folder["none"]) }
    await #expect(throws: MediaFileError.self) {
      try await PictureWorkshop().make(from: original, in: folder["none"])
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: output).isEmpty)
  }

  @Test func theEndOfVipsTellsWhoseFaultItIs() {
    func verdict(
      _ ending: ConfinedProcess.Ending, _ text: String = "", _ format: PictureFormat = .png
    ) -> (refusal: String?, code: PictureWorkshopError.Code?) {
      do {
        try PictureVerdict.check(
          ConfinedProcess.Outcome(ending: ending, output: text, processorTime: .seconds(3)), of: format)
        return (nil, nil)
      } catch {
        return ((error as? PictureRefusal)?.code, (error as? PictureWorkshopError)?.code)
      }
    }
    #expect(verdict(.exited(0)) == (nil, nil))
    #expect(verdict(.exited(1), "pngload: libspng read error") == ("broken_media", nil))
    #expect(verdict(.signalled(SIGSEGV)) == ("broken_media", nil))
    #expect(verdict(.signalled(SIGXCPU)) == ("broken_media", nil))
    #expect(verdict(.timedOut) == (nil, .starved))
    #expect(verdict(.exited(1), "\"original\" is not a known file format", .heic) == ("unsupported_media", nil))
    #expect(verdict(.exited(1), "\"original\" is not a known file format", .png) == ("broken_media", nil))
    #expect(verdict(.exited(1), "unix error: No space left on device") == (nil, .noSpace))
    #expect(verdict(.exited(127), "error while loading shared libraries: libvips.so.42") == (nil, .missingProgram))
    #expect(verdict(.signalled(SIGKILL)) == (nil, .killed))
  }

  @Test func aCancelledCallLeavesNothing() async throws {
    let original = try folder.picture("large.png", 3000, 2000)
    let task = Task { try await make(original) }
    try await eventually("vips has begun") { try !FileManager.default.contentsOfDirectory(atPath: output).isEmpty }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try FileManager.default.contentsOfDirectory(atPath: output).isEmpty)
  }
}
