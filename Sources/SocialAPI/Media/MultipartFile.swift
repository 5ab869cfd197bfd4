/// Extracts the only file of a `multipart/form-data` body (RFC 7578) as the body arrives. Holds at most one boundary
/// and the head of one part in memory.
struct MultipartFile {
  /// The reason why a body is refused.
  struct Malformed: Error, CustomStringConvertible {
    let description: String
  }

  private enum State {
    case preamble, head, file, end
  }

  static let maxHead = 8192

  private var state = State.preamble
  /// Bytes received but not yet classified.
  private var pending: [UInt8]
  /// A line break and the boundary, which end a part.
  private let delimiter: [UInt8]

  /// - Throws: ``Malformed`` if the type names no valid boundary.
  init(contentType: String) throws(Malformed) {
    guard let boundary = Self.boundary(in: contentType) else {
      throw Malformed(description: "the Content-Type names no boundary of up to 70 characters")
    }
    delimiter = Array("\r\n--\(boundary)".utf8)
    // The first boundary may come at the very start of the body.
    pending = [0x0D, 0x0A]
  }

  /// Whether the last boundary has arrived.
  var isComplete: Bool { state == .end }

  /// Returns the file's bytes among the given ones.
  mutating func take(_ bytes: some Sequence<UInt8>) throws(Malformed) -> [UInt8] {
    // Everything after the last boundary is ignored.
    if state == .end { return [] }
    pending += bytes
    var file: [UInt8] = []
    while try advance(&file) {}
    return file
  }

  /// Takes one step; returns false if it needs more bytes.
  private mutating func advance(_ file: inout [UInt8]) throws(Malformed) -> Bool {
    switch state {
    case .preamble:
      guard let found = pending.firstRange(of: delimiter) else {
        try limit(pending.count)
        return false
      }
      pending.removeSubrange(..<found.upperBound)
      state = .head
      return true
    case .head:
      guard pending.count >= 2 else { return false }
      if pending[0] == 0x2D, pending[1] == 0x2D {
        throw Malformed(description: "the body has no part with a file")
      }
      guard let found = pending.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) else {
        try limit(pending.count)
        return false
      }
      try limit(found.lowerBound)
      pending.removeSubrange(..<found.upperBound)
      state = .file
      return true
    case .file:
      guard let found = pending.firstRange(of: delimiter) else {
        // The last bytes may begin a boundary.
        let sure = pending.count - delimiter.count + 1
        if sure > 0 {
          file += pending[..<sure]
          pending.removeSubrange(..<sure)
        }
        return false
      }
      guard pending.count >= found.upperBound + 2 else { return false }
      guard pending[found.upperBound] == 0x2D, pending[found.upperBound + 1] == 0x2D else {
        throw Malformed(description: "the body has more than one part: send one file")
      }
      file += pending[..<found.lowerBound]
      pending = []
      state = .end
      return false
    case .end:
      return false
    }
  }

  private func limit(_ count: Int) throws(Malformed) {
    guard count <= Self.maxHead else { throw Malformed(description: "the head of a part may have at most 8 KiB") }
  }

  private static func boundary(in contentType: String) -> String? {
    for parameter in contentType.split(separator: ";").dropFirst() {
      let parts = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingPrefix { $0 == " " } }
      guard parts.count == 2, parts[0].lowercased() == "boundary" else { continue }
      var value = parts[1]
      while value.last == " " { value.removeLast() }
      if value.count >= 2, value.first == "\"", value.last == "\"" { value = value.dropFirst().dropLast() }
      let isPlain = value.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 }
      return (1...70).contains(value.utf8.count) && isPlain ? String(value) : nil
    }
    return nil
  }
}
