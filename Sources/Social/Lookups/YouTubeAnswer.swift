import Foundation

/// What the API found.
struct YouTubeAnswer: Sendable {
  /// In the API's order.
  var channels: [Channel]
  /// To be sent with the same question next time.
  var etag: String?

  /// Reads the body of an answer of status 200. `items` may be missing: then nothing was found.
  ///
  /// - Throws: `MalformedAnswer` for what is no such document.
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
      // What was not asked for answers nothing.
      case .channels(let ids): found.filter { ids.contains($0.id) }
      }
  }
}

/// An answer that is not what the API promises: no JSON, cut off, or of another shape.
struct MalformedAnswer: Error, CustomStringConvertible {
  /// Where it is wrong. Never what stands there.
  let description: String

  init(_ error: any Error) {
    description =
      switch error as? DecodingError {
      case .keyNotFound(let key, let context): "\(Self.path(context.codingPath + [key])) is missing"
      case .typeMismatch(_, let context): "\(Self.path(context.codingPath)) has another type"
      case .valueNotFound(_, let context): "\(Self.path(context.codingPath)) is null"
      case .dataCorrupted(let context) where !context.codingPath.isEmpty:
        "\(Self.path(context.codingPath)) is not valid"
      default: "it is not JSON, or cut off"
      }
  }

  private static func path(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "the document" : path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
  }
}

/// The document, as far as it is read: unknown fields are left alone.
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

/// An id: a text in `channels`, an object in `search`.
private struct Name: Decodable {
  let channel: String?

  private enum CodingKeys: CodingKey { case channelId }

  init(from decoder: any Decoder) throws {
    // Which of the two it is its form tells: that it is not the first is no error.
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      channel = text
    } else {
      channel = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(String.self, forKey: .channelId)
    }
  }
}

/// A number that comes as a text, as all of the API's counts do; one that comes as a number is read too.
private struct Count: Decodable {
  let value: Int?

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // Which of the two it is its form tells: that it is not the first is no error.
    if let text = try? container.decode(String.self) {
      value = Int(text)
    } else {
      value = try container.decode(Int.self)
    }
  }
}

extension Document.Item {
  /// Nil for what is no channel, or contradicts itself.
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

  /// The nearest to the size at which lists show it.
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

  /// Postgres keeps no NUL.
  private static func clean(_ text: String) -> String { text.replacing("\0", with: "") }

  /// With or without fractions of a second; nil for anything else.
  private static func date(_ text: String) -> Date? {
    let plain = Date.ISO8601FormatStyle()
    // Two forms are right: that it is not the first is no error, and what is neither is left out.
    if let date = try? plain.parse(text) { return date }
    return try? plain.time(includingFractionalSeconds: true).parse(text)
  }
}
