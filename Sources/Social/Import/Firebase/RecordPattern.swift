/// The place of records in an export: `comments/{post}/{comment}`. A segment in braces matches any key and names it.
struct RecordPattern: Hashable, Sendable, CustomStringConvertible {
  enum Segment: Hashable, Sendable {
    case key(String)
    case name(String)
  }

  let segments: [Segment]
  let description: String

  /// - Returns: nil unless the text has 1 to 12 segments, none empty, and ends with a name.
  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (1...12).contains(parts.count), !parts.contains(where: \.isEmpty) else { return nil }
    segments = parts.map { part in
      part.hasPrefix("{") && part.hasSuffix("}") && part.count > 2
        ? .name(String(part.dropFirst().dropLast())) : .key(String(part))
    }
    guard case .name? = segments.last else { return nil }
    description = text
  }

  /// Whether the segment at this place may be `key`.
  func allows(_ key: String, at place: Int) -> Bool {
    guard place < segments.count else { return false }
    switch segments[place] {
    case .key(let wanted): return wanted == key
    case .name: return true
    }
  }

  /// The keys of a path by their names; nil if the path does not match.
  func names(in path: [String]) -> [String: String]? {
    guard path.count == segments.count else { return nil }
    var names: [String: String] = [:]
    for (segment, key) in zip(segments, path) {
      switch segment {
      case .key(let wanted): if wanted != key { return nil }
      case .name(let name): names[name] = key
      }
    }
    return names
  }
}
