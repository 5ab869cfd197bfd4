import Foundation

/// A web address that a user entered to name a channel.
struct ChannelAddress {
  private let host: String
  private let path: [String]

  private static let hosts: Set<String> = [
    "youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "youtu.be", "www.youtu.be",
  ]

  /// First path components that do not lead to a channel.
  private static let others: Set<String> = [
    "watch", "playlist", "shorts", "live", "embed", "v", "e", "feed", "results", "hashtag", "post", "clip", "gaming",
  ]

  /// Nil if the text is not an address. Search words may contain a dot or a slash.
  init?(_ text: String) {
    let lowered = text.lowercased()
    let hasScheme = lowered.hasPrefix("https://") || lowered.hasPrefix("http://")
    var rest = text[...]
    if hasScheme, let colon = text.firstIndex(of: ":") { rest = text[colon...].dropFirst(3) }
    rest = rest.prefix { $0 != "?" && $0 != "#" }
    let parts = rest.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
    let first = parts.first?.lowercased() ?? ""
    let host = first.hasSuffix(":443") ? String(first.dropLast(4)) : first
    guard hasScheme || Self.hosts.contains(host) else { return nil }
    self.host = host
    path = parts.dropFirst().map { $0.removingPercentEncoding ?? $0 }
  }

  /// The channel's name in the address, and whether it is only a name to search for.
  ///
  /// - Throws: `invalid_q` if the address is not a channel's.
  func name() throws(SocialError) -> (words: String, isText: Bool) {
    guard Self.hosts.contains(host) else {
      throw .invalid("q", "is not an address on YouTube: give a channel's address, id, handle or name")
    }
    guard let first = path.first else {
      throw .invalid("q", "is YouTube's home page: give a channel's address, such as https://www.youtube.com/@name")
    }
    let isVideo = host.hasSuffix("youtu.be") && !first.hasPrefix("@") && first != "channel"
    guard !isVideo, !Self.others.contains(first.lowercased()) else {
      throw .invalid("q", "is not a channel's address: give the channel's")
    }
    switch first.lowercased() {
    case "channel":
      guard path.count > 1, ChannelQuestion.isChannelID(path[1]) else {
        throw .invalid("q", "has no channel id (UC…) after /channel/")
      }
      return (path[1], false)
    case "c", "user":
      guard path.count > 1 else { throw .invalid("q", "has no name after /\(first)/") }
      // The API has no query for these old names, so they are searched.
      return (path[1], true)
    default:
      return (first, ChannelQuestion.isChannelID(first))
    }
  }
}
