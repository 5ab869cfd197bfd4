/// An invented channel, fully determined by the seed and its name.
struct StandInChannel: Sendable {
  /// `UC` and 22 characters of base64url.
  let id: String
  let title: String
  /// With its `@`.
  let handle: String
  let description: String
  let publishedAt: String
  let country: String
  let subscribers: Int
  let videos: Int
  let views: Int

  private init(id: String, title: String, handle: String, _ hash: StableHash) {
    var hash = hash
    self.id = id
    self.title = title
    self.handle = handle
    description = "Made up: \(title)\nAs \"real\" as <this> & that."
    let parts = [2005 + hash.next(below: 19), 1 + hash.next(below: 12), 1 + hash.next(below: 28)]
    let clock = [hash.next(below: 24), hash.next(below: 60), hash.next(below: 60)]
    func padded(_ number: Int, _ width: Int = 2) -> String {
      String(repeating: "0", count: max(0, width - String(number).count)) + String(number)
    }
    // The real service writes some dates with fractional seconds and some without.
    let fraction = hash.next(below: 2) == 0 ? "" : "." + padded(hash.next(below: 1_000_000), 6)
    publishedAt =
      parts.map { padded($0) }.joined(separator: "-") + "T"
      + clock.map { padded($0) }.joined(separator: ":") + fraction + "Z"
    country = ["KR", "US", "DE", "BR", "JP"][hash.next(below: 5)]
    subscribers = hash.next(below: 100_000) * 100
    videos = hash.next(below: 3000)
    views = subscribers * 250 + hash.next(below: 1_000_000)
  }

  // MARK: Existing channels

  /// Turns one name into several channels: a word in the title and one in the handle.
  private static let variants: [(title: @Sendable (String) -> String, handle: String)] = [
    ({ $0 }, ""), ({ "\($0) & Friends" }, "friends"), ({ "\"\($0)\" Fan's Club" }, "club"),
    ({ "\($0) - Topic" }, "topic"), ({ "\($0) <live>" }, "live"),
  ]

  /// The results of a search for `query`, best first: none if it contains `nobody`, else one to five, always the same.
  static func search(_ query: String, seed: UInt64) -> [StandInChannel] {
    let words = words(in: query)
    guard !words.isEmpty, !words.contains("nobody") else { return [] }
    var hash = StableHash(words.joined(separator: " ").utf8, seed: seed)
    let others = hash.next(below: variants.count)
    return [named(words, seed: seed)] + (0..<others).map { channel(words, variant: $0 + 1, seed: seed) }
  }

  /// The channel with this handle, with or without its `@`; nil if it contains `nobody`.
  static func withHandle(_ handle: String, seed: UInt64) -> StandInChannel? {
    let words = words(in: handle)
    guard !words.isEmpty, !words.contains("nobody") else { return nil }
    return named(words, seed: seed)
  }

  /// A channel has one title, whether its last word was in the search or added here.
  private static func named(_ words: [String], seed: UInt64) -> StandInChannel {
    for (index, variant) in variants.enumerated().dropFirst() where words.count > 1 && words.last == variant.handle {
      return channel(Array(words.dropLast()), variant: index, seed: seed)
    }
    return channel(words, variant: 0, seed: seed)
  }

  /// A channel known only by its id, from which its name derives; nil for an invalid id. The last of the 22 characters
  /// encodes only two bits, so it is one of four.
  static func unnamed(_ id: String, seed: UInt64) -> StandInChannel? {
    guard isID(id) else { return nil }
    let hash = StableHash(id.utf8, seed: seed)
    return StandInChannel(id: id, title: "Channel \(id.suffix(6))", handle: "@channel-\(id.suffix(6))", hash)
  }

  static func isID(_ id: String) -> Bool {
    id.utf8.count == 24 && id.hasPrefix("UC") && "AQgw".contains(id.suffix(1))
      && id.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
      }
  }

  private static func channel(_ words: [String], variant: Int, seed: UInt64) -> StandInChannel {
    let name = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: " ")
    let ending = variants[variant].handle
    let handle = "@" + (words + (ending.isEmpty ? [] : [ending])).joined(separator: "-")
    var hash = StableHash(handle.utf8, seed: seed)
    let id = "UC" + hash.base64(bytes: 16)
    return StandInChannel(id: id, title: variants[variant].title(name), handle: handle, hash)
  }

  private static func words(in text: String) -> [String] {
    text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
  }

  // MARK: Responses

  private var thumbnails: JSONText {
    func size(_ name: String, _ pixels: Int) -> (String, JSONText) {
      let url = "https://yt3.ggpht.com/stand-in/\(id.dropFirst(2))=s\(pixels)-c-k-c0xffffffff-no-rj-mo"
      return (name, .object([("url", .text(url)), ("width", .number(pixels)), ("height", .number(pixels))]))
    }
    return .object([size("default", 88), size("medium", 240), size("high", 800)])
  }

  /// In the form of `search.list`: texts are HTML-escaped.
  func searchResult(etag: String) -> JSONText {
    let title = JSONText.text(Self.escaped(self.title))
    return .object([
      ("kind", .text("youtube#searchResult")), ("etag", .text(etag)),
      ("id", .object([("kind", .text("youtube#channel")), ("channelId", .text(id))])),
      (
        "snippet",
        .object([
          ("publishedAt", .text(publishedAt)), ("channelId", .text(id)), ("title", title),
          ("description", .text(Self.escaped(description))), ("thumbnails", thumbnails), ("channelTitle", title),
          ("liveBroadcastContent", .text("none")), ("publishTime", .text(publishedAt)),
          // The service sends undocumented fields.
          ("channelBadges", .array([.object([("rank", .null), ("level", .number(2))])])),
        ])
      ),
    ])
  }

  /// In the form of `channels.list`: texts are unescaped, counts are strings.
  func resource(parts: Set<String>, etag: String) -> JSONText {
    var fields: [(String, JSONText)] = [
      ("kind", .text("youtube#channel")), ("etag", .text(etag)), ("id", .text(id)),
    ]
    if parts.contains("snippet") {
      fields.append(
        (
          "snippet",
          .object([
            ("title", .text(title)), ("description", .text(description)), ("customUrl", .text(handle)),
            ("publishedAt", .text(publishedAt)), ("thumbnails", thumbnails),
            ("localized", .object([("title", .text(title)), ("description", .text(description))])),
            ("country", .text(country)), ("unknownField", .object([("nested", .array([.bool(true), .null]))])),
          ])
        ))
    }
    if parts.contains("statistics") {
      fields.append(
        (
          "statistics",
          .object([
            ("viewCount", .text(String(views))), ("subscriberCount", .text(String(subscribers))),
            ("hiddenSubscriberCount", .bool(false)), ("videoCount", .text(String(videos))),
          ])
        ))
    }
    return .object(fields)
  }

  /// The same channel with another title.
  func renamed(_ title: String) -> StandInChannel { StandInChannel(self, title: title) }

  private init(_ other: StandInChannel, title: String) {
    (id, handle, description, publishedAt) = (other.id, other.handle, other.description, other.publishedAt)
    (country, subscribers, videos, views) = (other.country, other.subscribers, other.videos, other.views)
    self.title = title
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.append(character)
      }
    }
    return escaped
  }
}
