/// One question to the YouTube Data API.
enum YouTubeCall: Sendable {
  /// Channels that fit some words.
  case search(String)
  /// Up to 50 channels by their ids.
  case channels([String])
  /// The channel of a handle; the API takes one a call.
  case handle(String)

  /// As many ids as one call takes.
  static let maxIDs = 50

  var isSearch: Bool {
    if case .search = self { true } else { false }
  }

  var path: String { isSearch ? "search" : "channels" }

  /// Without the key.
  var query: [(name: String, value: String)] {
    switch self {
    case .search(let text): [("part", "id,snippet"), ("type", "channel"), ("q", text)]
    // An answer has five channels unless a call says how many it wants.
    case .channels(let ids):
      [("part", "id,snippet,statistics"), ("id", ids.joined(separator: ",")), ("maxResults", "\(Self.maxIDs)")]
    case .handle(let handle): [("part", "id,snippet,statistics"), ("forHandle", handle)]
    }
  }
}
