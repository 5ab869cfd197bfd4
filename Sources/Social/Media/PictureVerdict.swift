import Glibc

/// Interprets how vips ended for the picture that it read.
enum PictureVerdict {
  /// - Throws: `PictureRefusal` if the picture is at fault; `PictureWorkshopError` if this server is.
  static func check(_ outcome: ConfinedProcess.Outcome, of format: PictureFormat) throws {
    switch outcome.ending {
    case .exited(0): return
    case .exited(let status): throw failure(status, outcome.output, format)
    case .signalled(SIGXCPU): throw tookTooLong
    // A running vips would have used up its CPU time first, so it did not get a CPU.
    case .timedOut:
      throw PictureWorkshopError(
        .starved, "vips got only \(outcome.processorTime) of CPU time: the machine is overloaded")
    // Sent from outside: vips's own limits cause other signals, and it cannot signal itself.
    case .signalled(SIGKILL), .signalled(SIGTERM): throw PictureWorkshopError(.killed, "vips was killed")
    case .signalled: throw PictureRefusal.broken("The \(format.name) picture crashes or confuses its decoder.")
    }
  }

  static var tookTooLong: PictureRefusal { .broken("The picture takes too long to decode.") }

  private static func failure(_ status: Int32, _ output: String, _ format: PictureFormat) -> any Error {
    func says(_ words: String...) -> Bool { words.contains { output.contains($0) } }
    if says("No space left on device", "Disk quota exceeded") {
      return PictureWorkshopError(.noSpace, "vips found no disk space to write to")
    }
    if status == 127, says("loading shared libraries") { return PictureWorkshopError(.missingProgram, output) }
    // Some builds of libheif lack an HEVC decoder, and some builds of libvips lack libheif.
    if format == .heic, says("not a known file format", "Unsupported") {
      return PictureRefusal.unsupported("This server does not decode this HEIC picture; send it as a JPEG.")
    }
    if says("out of memory") {
      return PictureRefusal.broken("The picture needs too much memory to decode.")
    }
    return PictureRefusal.malformed(format)
  }
}
