/// A request to the YouTube Data API.
enum YouTubeCall: Sendable {
  /// Channels that match some words.
  case search(String)
  /// Up to 50 channels by their ids.
  case channels([String])
  /// The channel with a handle; the API accepts one per call.
  case handle(String)

  /// The most ids per call.
  static let maxIDs = 50

  var isSearch: Bool {
    if case .search = self { true } else { false }
  }

  var path: String { isSearch ? "search" : "channels" }

  /// Excludes the key.
  var query: [(name: String, value: String)] {
    switch self {
    case .search(let text): [("part", "id,snippet"), ("type", "channel"), ("q", text)]
    // By default a response has at most five channels.
    case .channels(let ids):
      [("part", "id,snippet,statistics"), ("id", ids.joined(separator: ",")), ("maxResults", "\(Self.maxIDs)")]
    case .handle(let handle): [("part", "id,snippet,statistics"), ("forHandle", handle)]
    }
  }
}
