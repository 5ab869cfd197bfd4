/// Debian's program `vips`, confined: what parses the bytes of an upload.
struct Vips: Sendable {
  /// The largest file that an encoder may make of a picture of 2048 × 2048, in bytes.
  static let encodedLimit = 16 << 20

  var program: String
  /// The current folder of its calls, to which names are relative: its messages name no path, and no name is taken for
  /// options in brackets.
  var folder: String
  /// When all calls must have ended.
  var deadline: ContinuousClock.Instant
  /// What its calls may still use of a processor, together.
  var processorTime: Duration
  var memory: Int

  /// Decodes `original`, a link to the file at `path`, into `output`: upright, in sRGB, the first frame of several, and
  /// within the longest side of `.full`.
  ///
  /// - Throws: `PictureRefusal`, `PictureWorkshopError`, `ConfinementError`, `CancellationError`.
  mutating func decode(_ original: String, at path: String, of format: PictureFormat, to output: String) async throws {
    let side = String(PictureSize.full.longestSide)
    // `thumbnail` is vips' only operation that fails on a file that is cut off.
    try await run(
      [
        "thumbnail", original, "\(output)[compression=0,strip]", side, "--height", side, "--size", "down",
        "--export-profile", "srgb", "--fail-on", "error",
      ], on: format, reading: [path], fileSize: 64 << 20)
  }

  /// Scales `picture`, one of `decode`, to exactly `width` × `height` and encodes it.
  ///
  /// - Throws: as `decode`.
  mutating func encode(
    _ picture: String, _ encoding: PictureEncoding, width: Int, height: Int, to output: String
  ) async throws {
    let options =
      switch encoding {
      // Half the time of the usual effort, 4, for at most a sixth more bytes.
      case .webp: "Q=80,effort=2,strip"
      case .jpeg: "Q=82,optimize-coding,background=255,strip"
      }
    try await run(
      [
        "thumbnail", picture, "\(output)[\(options)]", String(width), "--height", String(height), "--size", "force",
        "--fail-on", "error",
      ], on: .png, reading: [], fileSize: Self.encodedLimit)
  }

  private mutating func run(
    _ arguments: [String], on format: PictureFormat, reading readable: [String], fileSize: Int
  ) async throws {
    var environment = [
      "PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8",
      "VIPS_BLOCK_UNTRUSTED": "1", "VIPS_CONCURRENCY": "1",
      // Large pictures stay in memory, whose limit then decides, and each thread's arena would reserve some of it.
      "VIPS_DISC_THRESHOLD": "1g", "MALLOC_ARENA_MAX": "1",
    ]
    // libvips searches its modules there. Only HEIC takes one; the others hold PDF, ImageMagick and more, and half of
    // the time that vips takes to start.
    if format != .heic { environment["VIPSHOME"] = "/nonexistent" }
    var limits = ConfinedProcess.Limits()
    limits.memory = memory
    limits.wallTime = deadline - .now
    limits.processorSeconds = max(1, Int((processorTime / .seconds(1)).rounded(.up)))
    limits.fileSize = fileSize
    let process = ConfinedProcess(
      program: program, arguments: arguments, environment: environment, folder: folder, readable: readable,
      limits: limits)
    let outcome = try await process.run()
    processorTime -= outcome.processorTime
    try PictureVerdict.check(outcome, of: format)
    guard processorTime > .zero else { throw PictureVerdict.tookTooLong }
  }
}
