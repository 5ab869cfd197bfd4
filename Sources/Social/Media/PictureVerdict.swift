import Glibc

/// What the end of vips says of the picture that it read.
enum PictureVerdict {
  /// - Throws: `PictureRefusal` where it speaks against the picture; `PictureWorkshopError` where it is this server's
  ///   own trouble.
  static func check(_ outcome: ConfinedProcess.Outcome, of format: PictureFormat) throws {
    switch outcome.ending {
    case .exited(0): return
    case .exited(let status): throw failure(status, outcome.output, format)
    case .signalled(SIGXCPU): throw tookTooLong
    // Work would have used its processor time up: it had no processor.
    case .timedOut:
      throw PictureWorkshopError(
        .starved, "vips had a processor for \(outcome.processorTime) alone: the machine has too much to do")
    // Its own limits send other signals, and it cannot signal itself.
    case .signalled(SIGKILL), .signalled(SIGTERM): throw PictureWorkshopError(.killed, "vips was killed")
    case .signalled: throw PictureRefusal.broken("The \(format.name) picture makes its decoder fail.")
    }
  }

  static var tookTooLong: PictureRefusal { .broken("The picture takes too long to decode.") }

  private static func failure(_ status: Int32, _ output: String, _ format: PictureFormat) -> any Error {
    func says(_ words: String...) -> Bool { words.contains { output.contains($0) } }
    if says("No space left on device", "Disk quota exceeded") {
      return PictureWorkshopError(.noSpace, "vips found no space to write to")
    }
    if status == 127, says("loading shared libraries") { return PictureWorkshopError(.missingProgram, output) }
    // libheif comes without a decoder for HEVC in places, and libvips without libheif.
    if format == .heic, says("not a known file format", "Unsupported") {
      return PictureRefusal.unsupported("This server does not decode this HEIC picture; send it as a JPEG.")
    }
    if says("out of memory") {
      return PictureRefusal.broken("The picture takes more memory to decode than a picture may.")
    }
    return PictureRefusal.malformed(format)
  }
}
