/// Debian's programs `vips` and `vipsthumbnail`, which parse the bytes of an upload in confinement.
struct Vips: Sendable {
  /// The largest file that an encoder may produce from a picture of 2048 × 2048, in bytes.
  static let encodedLimit = 16 << 20

  /// The path of `vips`; `vipsthumbnail` is in the same folder.
  var program: String
  /// The working directory of the calls. Names are relative to it, so that messages contain no path, and no name is
  /// parsed as options in brackets.
  var folder: String
  /// The deadline for all calls.
  var deadline: ContinuousClock.Instant
  /// The CPU time left for all calls together.
  var processorTime: Duration
  var memory: Int
  var controlGroup: ControlGroup?

  /// Decodes `original`, a link to the file at `path`, into `output`: upright, in sRGB, only the first frame, and
  /// within the longest side of `.full`.
  ///
  /// Pixels that are already in sRGB are not converted, because converting takes two fifths of the time.
  ///
  /// - Throws: `PictureRefusal`, `PictureWorkshopError`, `ConfinementError`, `CancellationError`.
  mutating func decode(_ original: String, at path: String, of header: PictureHeader, to output: String) async throws {
    let profile = header.isPlainRGB ? [] : ["--export-profile", "srgb"]
    let side = String(PictureSize.full.longestSide)
    // `thumbnail` is the only vips operation that fails on a truncated file.
    try await run(
      program,
      [
        "thumbnail", original, "\(output)[compression=0,strip]", side, "--height", side, "--size", "down",
        "--fail-on", "error",
      ] + profile, on: header.format, reading: [path], fileSize: 64 << 20)
  }

  /// Scales `picture`, an output of `decode` or of this method, to exactly `width` × `height`.
  ///
  /// - Throws: the errors of `decode`.
  mutating func scale(_ picture: String, width: Int, height: Int, to output: String) async throws {
    try await run(
      program,
      [
        "thumbnail", picture, "\(output)[compression=0,strip]", String(width), "--height", String(height), "--size",
        "force", "--fail-on", "error",
      ], on: .png, reading: [], fileSize: 64 << 20)
  }

  /// Encodes `pictures`, outputs of `decode` or `scale`, in the same folder: `full.png` as `full.webp`.
  ///
  /// - Throws: the errors of `decode`.
  mutating func encode(_ pictures: [String], _ encoding: PictureEncoding) async throws {
    let options =
      switch encoding {
      // Effort 1 takes less than half the time of the default, 4, for about a seventh more bytes.
      case .webp: "Q=80,effort=1,strip"
      case .jpeg: "Q=82,background=255,strip"
      }
    let side = PictureSize.full.longestSide
    // One process for all, since starting one costs as much as a small picture. No picture exceeds the given size, so
    // none is scaled.
    try await run(
      program + "thumbnail",
      pictures + ["--size", "\(side)x\(side)>", "--output", "%s.\(encoding.fileExtension)[\(options)]"],
      on: .png, reading: [], fileSize: Self.encodedLimit)
  }

  /// Renders `drawing`, this program's own SVG. The SVG loader, disabled for uploads, needs fonts.
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
      // Large pictures stay in memory, so that its limit decides. One arena, because each thread's arena would reserve
      // part of that limit.
      "VIPS_DISC_THRESHOLD": "1g", "MALLOC_ARENA_MAX": "1",
    ]
    if blocksUntrusted { environment["VIPS_BLOCK_UNTRUSTED"] = "1" }
    // libvips searches this folder for modules. Only HEIC needs one. The others, such as PDF and ImageMagick, take half
    // of vips's startup time.
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
