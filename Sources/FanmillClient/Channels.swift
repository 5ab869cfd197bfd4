import Foundation

/// A YouTube channel in the results of a search.
public struct Channel: Sendable, Hashable, Codable, Identifiable {
  public var platform: Platform
  /// The account under which a fan registers it: its id.
  public var account: String
  /// `UC…`.
  public var id: String
  public var title: String
  /// With its `@`; nil if unknown.
  public var handle: String?
  /// The URL of a picture.
  public var thumbnail: String?
  /// The URL of the channel's page.
  public var url: String
  public var publishedAt: Date?
  /// nil if hidden or unknown.
  public var subscribers: Int?

  public init(
    platform: Platform, account: String, id: String, title: String, handle: String? = nil, thumbnail: String? = nil,
    url: String, publishedAt: Date? = nil, subscribers: Int? = nil
  ) {
    self.platform = platform
    self.account = account
    self.id = id
    self.title = title
    self.handle = handle
    self.thumbnail = thumbnail
    self.url = url
    self.publishedAt = publishedAt
    self.subscribers = subscribers
  }
}

/// The state of a lookup.
public struct LookupState: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let waiting = LookupState(rawValue: "waiting")
  public static let running = LookupState(rawValue: "running")
  /// The server's budget is spent; the lookup goes on at ``Lookup/retryAt``.
  public static let parked = LookupState(rawValue: "parked")
  public static let done = LookupState(rawValue: "done")
  public static let failed = LookupState(rawValue: "failed")
}

/// A question to YouTube that the server has in hand.
public struct Lookup: Sendable, Hashable, Codable {
  public typealias ID = String

  public var id: ID
  public var state: LookupState
  /// What was found, once it is done.
  public var items: [Channel]
  /// When a parked lookup goes on.
  public var retryAt: Date?
  /// Why it failed or is tried again, for programs.
  public var reason: String?
  /// The same for people.
  public var message: String?

  public init(
    id: ID, state: LookupState, items: [Channel], retryAt: Date? = nil, reason: String? = nil, message: String? = nil
  ) {
    self.id = id
    self.state = state
    self.items = items
    self.retryAt = retryAt
    self.reason = reason
    self.message = message
  }
}

/// The answer to a search for channels.
public enum ChannelSearch: Sendable, Hashable {
  /// With `hasMore`, a search of YouTube may find more: ask with `more`.
  case found([Channel], hasMore: Bool)
  /// YouTube is asked. The event `lookup` tells the end, and ``FanmillClient/Channels/lookup(_:)`` the result.
  case started(Lookup.ID)
}

extension FanmillClient {
  public var channels: Channels { Channels(sender: sender) }

  /// `celebs/search` and `lookups`: YouTube channels.
  public struct Channels: Sendable {
    let sender: RequestSender

    private struct Found: Decodable {
      var items: [Channel]
      var more: Bool
    }

    private struct Begun: Decodable { var lookup: Lookup.ID }

    /// Searches for channels, first in stored answers.
    ///
    /// - Parameters:
    ///   - query: an id (`UC…`), a handle (`@…`), the address of a channel, or words; up to 200 characters.
    ///   - more: asks YouTube even if stored answers exist.
    /// - Throws: `invalid_q`, `quota_exhausted`, `lookup_share_spent`, `lookups_unavailable`, `rate_limited`.
    public func search(_ query: String, more: Bool = false) async throws -> ChannelSearch {
      let response = try await sender.send(
        APIRequest(
          .get, ["celebs", "search"],
          query: [("platform", Platform.youtube.rawValue), ("q", query), ("more", more ? "true" : nil)]))
      if response.status == 202 { return .started(try RequestSender.decode(response, as: Begun.self).lookup) }
      let found: Found = try RequestSender.decode(response)
      return .found(found.items, hasMore: found.more)
    }

    /// - Throws: `not_found`.
    public func lookup(_ id: Lookup.ID) async throws -> Lookup {
      try await sender.value(APIRequest(.get, ["lookups", id]))
    }

    /// Searches for channels and waits for YouTube's answer if there is none in store. An app that has its event stream
    /// open waits for the event `lookup` instead.
    ///
    /// - Throws: `not_ready` after `limit`, or if the lookup is parked or failed; and what ``search(_:more:)`` throws.
    public func find(_ query: String, more: Bool = false, within limit: Duration = .seconds(30)) async throws
      -> [Channel]
    {
      let id: Lookup.ID
      switch try await search(query, more: more) {
      case .found(let channels, _): return channels
      case .started(let lookup): id = lookup
      }
      var (waited, delay) = (Duration.zero, Duration.milliseconds(200))
      while true {
        let lookup = try await lookup(id)
        switch lookup.state {
        case .done: return lookup.items
        case .failed, .parked:
          throw FanmillError(.notReady, lookup.message ?? "YouTube cannot answer now")
        default: break
        }
        guard waited < limit else { throw FanmillError(.notReady, "YouTube has not answered in time") }
        try await sender.clock.sleep(for: delay)
        (waited, delay) = (waited + delay, min(delay * 2, .seconds(2)))
      }
    }
  }
}
