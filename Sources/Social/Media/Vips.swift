/// Debian's programs `vips` and `vipsthumbnail`, confined: what parses the bytes of an upload.
struct Vips: Sendable {
  /// The largest file that an encoder may make of a picture of 2048 × 2048, in bytes.
  static let encodedLimit = 16 << 20

  /// The path of `vips`; `vipsthumbnail` is beside it.
  var program: String
  /// The current folder of its calls, to which names are relative: its messages name no path, and no name is taken for
  /// options in brackets.
  var folder: String
  /// When all calls must have ended.
  var deadline: ContinuousClock.Instant
  /// What its calls may still use of a processor, together.
  var processorTime: Duration
  var memory: Int
  var controlGroup: ControlGroup?

  /// Decodes `original`, a link to the file at `path`, into `output`: upright, in sRGB, the first frame of several, and
  /// within the longest side of `.full`.
  ///
  /// Where the pixels are in sRGB already nothing is converted: to convert them would take two fifths of the time.
  ///
  /// - Throws: `PictureRefusal`, `PictureWorkshopError`, `ConfinementError`, `CancellationError`.
  mutating func decode(_ original: String, at path: String, of header: PictureHeader, to output: String) async throws {
    let profile = header.isPlainRGB ? [] : ["--export-profile", "srgb"]
    let side = String(PictureSize.full.longestSide)
    // `thumbnail` is vips' only operation that fails on a file that is cut off.
    try await run(
      program,
      [
        "thumbnail", original, "\(output)[compression=0,strip]", side, "--height", side, "--size", "down",
        "--fail-on", "error",
      ] + profile, on: header.format, reading: [path], fileSize: 64 << 20)
  }

  /// Scales `picture`, one of `decode` or of this, to exactly `width` × `height`.
  ///
  /// - Throws: as `decode`.
  mutating func scale(_ picture: String, width: Int, height: Int, to output: String) async throws {
    try await run(
      program,
      [
        "thumbnail", picture, "\(output)[compression=0,strip]", String(width), "--height", String(height), "--size",
        "force", "--fail-on", "error",
      ], on: .png, reading: [], fileSize: 64 << 20)
  }

  /// Encodes `pictures`, each of `decode` or `scale`, beside them: `full.png` as `full.webp`.
  ///
  /// - Throws: as `decode`.
  mutating func encode(_ pictures: [String], _ encoding: PictureEncoding) async throws {
    let options =
      switch encoding {
      // Less than half the time of the usual effort, 4, for about a seventh more bytes.
      case .webp: "Q=80,effort=1,strip"
      case .jpeg: "Q=82,background=255,strip"
      }
    let side = PictureSize.full.longestSide
    // One process for all: to start costs it as much as a small picture. None is larger than the size named, and so
    // none is scaled.
    try await run(
      program + "thumbnail",
      pictures + ["--size", "\(side)x\(side)>", "--output", "%s.\(encoding.fileExtension)[\(options)]"],
      on: .png, reading: [], fileSize: Self.encodedLimit)
  }

  /// Draws `drawing`, an SVG of this program's own: its loader, which is off for uploads, looks for fonts.
  mutating func draw(_ drawing: String, to output: String) async throws {
    try await run(
      program, ["copy", drawing, "\(output)[strip]"], on: .png,
      reading: ["/etc/fonts", "/usr/share/fonts", "/var/cache/fontconfig"], fileSize: 64 << 20, blocksUntrusted: false)
  }

  private mutating func run(
    _ program: String, _ arguments: [String], on format: PictureFormat, reading readable: [String], fileSize: Int,
    blocksUntrusted: Bool = true
  ) async throws {
    var environment = [
      "PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8", "VIPS_CONCURRENCY": "1",
      // Large pictures stay in memory, whose limit then decides, and each thread's arena would reserve some of it.
      "VIPS_DISC_THRESHOLD": "1g", "MALLOC_ARENA_MAX": "1",
    ]
    if blocksUntrusted { environment["VIPS_BLOCK_UNTRUSTED"] = "1" }
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
      limits: limits, controlGroup: controlGroup)
    let outcome = try await process.run()
    processorTime -= outcome.processorTime
    try PictureVerdict.check(outcome, of: format)
    guard processorTime > .zero else { throw PictureVerdict.tookTooLong }
  }
}
