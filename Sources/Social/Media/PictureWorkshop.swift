import Foundation
import Glibc

/// Makes the served pictures from an original that may be malicious.
///
/// It outputs only new pictures: pixels decoded in a `ConfinedProcess` and encoded again, without EXIF, GPS, XMP, IPTC,
/// color profile or comment.
public struct PictureWorkshop: Sendable {
  /// The path of vips from Debian's package libvips-tools; 8.14 or later.
  public static let vips = "/usr/bin/vips"

  private let program: String
  private let processorTime: Duration
  private let wallTime: Duration
  private let memory: Int
  private let controlGroup: ControlGroup?

  /// - Parameters:
  ///   - program: the path of vips.
  ///   - processorTime: the CPU time for all files of one original.
  ///   - wallTime: the elapsed time for them; longer, since vips runs at the lowest priority.
  ///   - memory: the address space of vips, in bytes.
  ///   - controlGroup: the control group that vips runs in.
  public init(
    program: String = Self.vips, processorTime: Duration = .seconds(20), wallTime: Duration = .seconds(100),
    memory: Int = 512 << 20, controlGroup: ControlGroup? = nil
  ) {
    self.program = program
    self.processorTime = processorTime
    self.wallTime = wallTime
    self.memory = memory
    self.controlGroup = controlGroup
  }

  /// Whether vips is installed.
  public var isAvailable: Bool { access(program, X_OK) == 0 }
  public static var isAvailable: Bool { PictureWorkshop().isAvailable }

  /// Makes the six files of `original` in `folder`, under the names of `Pictures.name`; none if it throws.
  ///
  /// - Parameters:
  ///   - original: the path of a regular file.
  ///   - folder: a writable folder used only by this call.
  /// - Throws: `PictureRefusal` if the original is at fault. `PictureWorkshopError`, `MediaFileError` or
  ///   `ConfinementError` if this server is at fault; a retry may succeed. `CancellationError`.
  public func make(from original: String, in folder: String) async throws -> Pictures {
    let header = try PictureHeader(path: original)
    guard isAvailable else {
      throw PictureWorkshopError(.missingProgram, "no vips at \(program): Debian's package libvips-tools has it")
    }
    let bench = try MediaFiles.makeFolder(in: folder)
    defer { MediaFiles.removeFolder(bench) }
    do {
      let path = URL(filePath: original).standardizedFileURL.path
      try MediaFiles.link(path, as: bench + "/original")
      var vips = Vips(
        program: program, folder: bench, deadline: .now + wallTime, processorTime: processorTime, memory: memory,
        controlGroup: controlGroup)
      try await vips.decode("original", at: path, of: header, to: Self.pixels(.full))
      return try await encode(bench, &vips, in: folder)
    } catch {
      MediaFiles.remove(Pictures.names.map { folder + "/" + $0 })
      throw error
    }
  }

  /// Renders this program's own drawing as a PNG, as strictly confined as an upload, because it may embed a picture
  /// from an untrusted source.
  ///
  /// - Throws: the errors of `make`.
  func render(_ svg: String, in folder: String) async throws -> [UInt8] {
    guard isAvailable else {
      throw PictureWorkshopError(.missingProgram, "no vips at \(program): Debian's package libvips-tools has it")
    }
    let bench = try MediaFiles.makeFolder(in: folder)
    defer { MediaFiles.removeFolder(bench) }
    try MediaFiles.write(Array(svg.utf8), to: bench + "/card.svg")
    var vips = Vips(
      program: program, folder: bench, deadline: .now + wallTime, processorTime: processorTime, memory: memory,
      controlGroup: controlGroup)
    try await vips.draw("card.svg", to: "card.png")
    return Array(try Data(contentsOf: URL(filePath: bench + "/card.png")))
  }

  private struct Scaled {
    let size: PictureSize
    let width: Int
    let height: Int
    /// The size whose pixels it uses: a larger one, if the original is small.
    let pixels: PictureSize
  }

  private func encode(_ bench: String, _ vips: inout Vips, in folder: String) async throws -> Pictures {
    let upright = try PictureHeader(path: bench + "/" + Self.pixels(.full))
    var sizes: [Scaled] = []
    // Each size is scaled from the next larger one.
    for size in PictureSize.allCases.reversed() {
      let (width, height) = size.fitted(width: upright.width, height: upright.height)
      var pixels = size
      if let last = sizes.last {
        if last.width == width, last.height == height {
          pixels = last.pixels
        } else {
          try await vips.scale(Self.pixels(last.pixels), width: width, height: height, to: Self.pixels(size))
        }
      }
      sizes.append(Scaled(size: size, width: width, height: height, pixels: pixels))
    }
    var files: [Pictures.File] = []
    for encoding in PictureEncoding.allCases {
      try await vips.encode(sizes.filter { $0.size == $0.pixels }.map { Self.pixels($0.size) }, encoding)
      for size in sizes {
        let made = bench + "/" + Pictures.name(size.pixels, encoding)
        let bytes = try Self.cleaned(made, encoding, size.width, size.height)
        let file = Pictures.File(
          size: size.size, encoding: encoding, width: size.width, height: size.height, byteCount: bytes.count)
        try MediaFiles.write(bytes, to: folder + "/" + file.name)
        files.append(file)
      }
    }
    return Pictures(width: upright.width, height: upright.height, files: files)
  }

  /// The name of a size's pixels in the working folder.
  private static func pixels(_ size: PictureSize) -> String { size.rawValue + ".png" }

  /// The bytes of a file that vips encoded, without metadata. They are not trusted: a compromised decoder may have
  /// written anything.
  private static func cleaned(
    _ path: String, _ encoding: PictureEncoding, _ width: Int, _ height: Int
  ) throws -> [UInt8] {
    let made = try PictureHeader(path: path)
    guard made.format == encoding.format, made.width == width, made.height == height else {
      throw PictureRefusal.broken("The picture crashes or confuses its decoder.")
    }
    let input = try PictureInput(path: path)
    let bytes = try input.bytes(at: 0, count: min(input.size, Vips.encodedLimit))
    return switch encoding {
    case .webp: try WebPFile(bytes).bytes
    case .jpeg: try JPEGFile(bytes).bytes
    }
  }
}
