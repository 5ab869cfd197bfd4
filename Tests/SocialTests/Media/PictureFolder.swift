import Foundation
import Testing

@testable import Social

/// A test's own temporary folder, and pictures made in it.
final class PictureFolder: Sendable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "media-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.resolvingSymlinksInPath().path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  subscript(_ name: String) -> String { path + "/" + name }

  var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

  @discardableResult
  func write(_ bytes: [UInt8], to name: String) throws -> String {
    try Data(bytes).write(to: URL(filePath: self[name]))
    return self[name]
  }

  func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: self[name]))) }

  func folder(_ name: String) throws -> String {
    try FileManager.default.createDirectory(atPath: self[name], withIntermediateDirectories: true)
    return self[name]
  }

  /// Runs vips in the folder, unconfined, and returns its output.
  @discardableResult
  func vips(_ arguments: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: PictureWorkshop.vips)
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: path)
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "vips \(arguments) failed")
    return String(decoding: text, as: UTF8.self)
  }

  /// Makes a picture whose pixels are `colour` of their position; `options` are vips', such as `[Q=90]`.
  @discardableResult
  func picture(
    _ name: String, _ width: Int, _ height: Int, options: String = "",
    _ colour: (_ x: Int, _ y: Int) -> (UInt8, UInt8, UInt8) = { x, y in
      (UInt8(truncatingIfNeeded: x), UInt8(truncatingIfNeeded: y), 128)
    }
  ) throws -> String {
    var bytes = Array("P6\n\(width) \(height)\n255\n".utf8)
    bytes.reserveCapacity(width * height * 3 + 20)
    for y in 0..<height {
      for x in 0..<width {
        let (red, green, blue) = colour(x, y)
        bytes.append(red)
        bytes.append(green)
        bytes.append(blue)
      }
    }
    try write(bytes, to: "\(name).ppm")
    try vips("copy", "\(name).ppm", name + options)
    return self[name]
  }

  /// The bands of a pixel.
  func pixel(_ name: String, _ x: Int, _ y: Int) throws -> [Double] {
    try vips("getpoint", name, String(x), String(y)).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
  }
}

/// The refusal that `body` throws.
func refusal<Result>(_ body: () async throws -> Result) async throws -> PictureRefusal? {
  do {
    _ = try await body()
    return nil
  } catch let refusal as PictureRefusal {
    return refusal
  }
}
