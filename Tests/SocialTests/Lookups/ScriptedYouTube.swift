import Foundation
import Locking

@testable import Social

/// An in-process transport: a test scripts its replies and sees its requests.
final class ScriptedYouTube: YouTubeTransport {
  struct Request: Sendable {
    let path: String
    let query: [String: String]
    let etag: String?
    var key: String { query["key"] ?? "" }
  }

  typealias Script = @Sendable (Request) async throws -> YouTubeResponse

  private let state: Locked<(script: Script, requests: [Request])>

  init(_ script: @escaping Script = { try YouTubeResponse.of($0) }) {
    state = Locked((script, []))
  }

  var requests: [Request] { state.withLock { $0.requests } }

  func answer(_ script: @escaping Script) { state.withLock { $0.script = script } }

  func get(path: String, query: [(name: String, value: String)], etag: String?) async throws -> YouTubeResponse {
    let request = Request(
      path: path, query: Dictionary(uniqueKeysWithValues: query.map { ($0.name, $0.value) }), etag: etag)
    let script = state.withLock { state in
      state.requests.append(request)
      return state.script
    }
    return try await script(request)
  }
}

extension YouTubeResponse {
  init(_ json: String) { self.init(200, json) }

  init(_ status: Int, _ json: String) { self.init(status: status, body: Array(json.utf8)) }

  /// The reply of a well-behaved service: one channel for a search or a handle, each channel of ids.
  static func of(_ request: ScriptedYouTube.Request) throws -> YouTubeResponse {
    if let text = request.query["q"] {
      let id = channelID(text)
      return YouTubeResponse(
        """
        {"kind":"youtube#searchListResponse","etag":"inner","regionCode":"DE","items":[{"kind":"youtube#searchResult",
        "id":{"kind":"youtube#channel","channelId":"\(id)"},"snippet":{"publishedAt":"2012-07-19T12:00:00Z",
        "channelId":"\(id)","title":"about \(text)","thumbnails":{"default":{"url":"https://example.org/\(id).jpg"}}}}]}
        """)
    }
    let ids = request.query["id"]?.split(separator: ",").map(String.init)
    let handle = request.query["forHandle"]
    return YouTubeResponse(
      #"{"items":["# + (ids ?? [channelID(handle ?? "")]).map { item($0, handle: handle) }.joined(separator: ",") + "]}"
    )
  }

  static func item(_ id: String, title: String = "a title", handle: String? = nil) -> String {
    """
    {"kind":"youtube#channel","id":"\(id)","snippet":{"title":"\(title)","customUrl":"\(handle ?? "@of" + id.lowercased())",
    "publishedAt":"2019-01-02T03:04:05.678Z","thumbnails":{"default":{"url":"https://example.org/\(id).jpg","width":88}}},
    "statistics":{"viewCount":"12","subscriberCount":"3450","hiddenSubscriberCount":false,"videoCount":"7"}}
    """
  }

  /// An error in the service's format.
  static func refusal(_ status: Int, _ reason: String, _ message: String = "a message", more: String = "")
    -> YouTubeResponse
  {
    YouTubeResponse(
      status,
      """
      {"error":{"code":\(status),"message":"\(message)","errors":[{"message":"\(message)","domain":"youtube.quota",
      "reason":"\(reason)"}],"status":"WHATEVER"\(more)}}
      """)
  }
}

/// A channel id in the right form, the same for the same text.
func channelID(_ text: String) -> String {
  let letters = text.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
  return "UC" + String((letters + String(repeating: "x", count: 22)).prefix(22))
}

/// A clock that a test sets.
final class TestTime: Sendable {
  private let date: Locked<Date>
  init(_ date: Date) { self.date = Locked(date) }
  var now: Date { date.withLock { $0 } }
  func advance(_ interval: TimeInterval) { date.withLock { $0 += interval } }
}

func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }
