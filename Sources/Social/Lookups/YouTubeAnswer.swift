import Foundation

/// A successful response of the API.
struct YouTubeAnswer: Sendable {
  /// In the API's order.
  var channels: [Channel]
  /// To be sent with the same question next time.
  var etag: String?

  /// Parses the body of a response with status 200. A body without `items` means that nothing was found.
  ///
  /// - Throws: `MalformedAnswer` if it is not such a document.
  init(_ response: YouTubeResponse, to call: YouTubeCall) throws(MalformedAnswer) {
    let document: Document
    do {
      document = try JSONDecoder().decode(Document.self, from: Data(response.body))
    } catch {
      throw MalformedAnswer(error)
    }
    etag = response.etag ?? document.etag
    let found = (document.items ?? []).compactMap(\.channel)
    channels =
      switch call {
      case .search: found
      case .handle: Array(found.prefix(1))
      // Ignore channels that were not requested.
      case .channels(let ids): found.filter { ids.contains($0.id) }
      }
  }
}

/// A response that breaks the API's contract: not JSON, truncated, or of another shape.
struct MalformedAnswer: Error, CustomStringConvertible {
  /// The path of the error, without the value.
  let description: String

  init(_ error: any Error) {
    description =
      switch error as? DecodingError {
      case .keyNotFound(let key, let context): "\(Self.path(context.codingPath + [key])) is missing"
      case .typeMismatch(_, let context): "\(Self.path(context.codingPath)) has the wrong type"
      case .valueNotFound(_, let context): "\(Self.path(context.codingPath)) is null"
      case .dataCorrupted(let context) where !context.codingPath.isEmpty:
        "\(Self.path(context.codingPath)) is not valid"
      default: "it is not JSON, or it is truncated"
      }
  }

  private static func path(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "the document" : path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
  }
}

/// The fields that are used; unknown ones are ignored.
private struct Document: Decodable {
  struct Item: Decodable {
    var id: Name
    var snippet: Snippet?
    var statistics: Statistics?
  }

  struct Snippet: Decodable {
    var title: String?
    var channelId: String?
    var customUrl: String?
    var publishedAt: String?
    var thumbnails: [String: Thumbnail]?
  }

  struct Thumbnail: Decodable {
    var url: String?
  }

  struct Statistics: Decodable {
    var subscriberCount: Count?
    var hiddenSubscriberCount: Bool?
  }

  var etag: String?
  var items: [Item]?
}

/// An id: a string in `channels`, an object in `search`.
private struct Name: Decodable {
  let channel: String?

  private enum CodingKeys: CodingKey { case channelId }

  init(from decoder: any Decoder) throws {
    // Either form is valid, so failing to parse the first is not an error.
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      channel = text
    } else {
      channel = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(String.self, forKey: .channelId)
    }
  }
}

/// A number sent as a string, like all of the API's counts; a plain number is accepted too.
private struct Count: Decodable {
  let value: Int?

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // Either form is valid, so failing to parse the first is not an error.
    if let text = try? container.decode(String.self) {
      value = Int(text)
    } else {
      value = try container.decode(Int.self)
    }
  }
}

extension Document.Item {
  /// Nil if the item is not a channel, or contradicts itself.
  var channel: Channel? {
    guard let id = id.channel, Self.isID(id), snippet?.channelId == nil || snippet?.channelId == id,
      let title = snippet?.title
    else { return nil }
    let handle = snippet?.customUrl.flatMap { $0.hasPrefix("@") ? $0 : nil }
    let isHidden = statistics?.hiddenSubscriberCount ?? false
    return Channel(
      id: id, title: Self.clean(HTMLText.unescaped(title)), handle: handle.map(Self.clean), thumbnail: thumbnail,
      publishedAt: snippet?.publishedAt.flatMap(Self.date),
      subscribers: isHidden ? nil : statistics?.subscriberCount?.value.flatMap { $0 >= 0 ? $0 : nil })
  }

  /// The available size nearest to the one shown in lists.
  private var thumbnail: String? {
    for size in ["medium", "default", "high"] {
      if let url = snippet?.thumbnails?[size]?.url, url.hasPrefix("https://") || url.hasPrefix("http://") {
        return Self.clean(url)
      }
    }
    return nil
  }

  private static func isID(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(ChannelQuestion.isIDByte)
  }

  /// Postgres cannot store NUL.
  private static func clean(_ text: String) -> String { text.replacing("\0", with: "") }

  /// Parses a date with or without fractional seconds; nil for anything else.
  private static func date(_ text: String) -> Date? {
    let plain = Date.ISO8601FormatStyle()
    // Either form is valid, so failing to parse the first is not an error.
    if let date = try? plain.parse(text) { return date }
    return try? plain.time(includingFractionalSeconds: true).parse(text)
  }
}
