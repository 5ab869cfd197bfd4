/// The part of a file that a `Range` header selects (RFC 9110, 14.2).
enum ByteRange: Equatable {
  case whole
  case part(Range<Int>)
  /// The range begins after the end of the file.
  case unsatisfiable

  /// Multiple ranges and invalid ones get the whole file, as the RFC allows.
  init(_ header: String?, of count: Int) {
    guard let header, header.hasPrefix("bytes="), !header.contains(",") else {
      self = .whole
      return
    }
    let bounds = header.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
      self = .whole
      return
    }
    // Numbers with more digits than any file size mean the end.
    let (first, last) = (Self.number(bounds[0]), Self.number(bounds[1]))
    switch (first, last) {
    case (nil, nil): self = .whole
    case (nil, let suffix?): self = suffix == 0 ? .unsatisfiable : .part(max(0, count - suffix)..<count)
    case (let first?, nil): self = first < count ? .part(first..<count) : .unsatisfiable
    case (let first?, let last?):
      if last < first {
        self = .whole
      } else {
        self = first < count ? .part(first..<min(count, last < Int.max ? last + 1 : count)) : .unsatisfiable
      }
    }
  }

  private static func number(_ text: Substring) -> Int? { text.isEmpty ? nil : Int(text) ?? .max }
}
