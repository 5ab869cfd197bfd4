import Foundation

/// A heart that was given.
public struct Heart: Sendable, Hashable, Codable {
  /// The fan's hearts for the celeb since it was registered.
  public var count: Int
  /// When the next one is possible: ten minutes later.
  public var nextAt: Date

  public init(count: Int, nextAt: Date) {
    self.count = count
    self.nextAt = nextAt
  }
}

extension FanmillClient {
  public var hearts: Hearts { Hearts(sender: sender) }

  /// `me/celebs/PLATFORM/ACCOUNT/hearts`.
  public struct Hearts: Sendable {
    let sender: RequestSender

    /// Gives a heart to one of the fan's celebs.
    ///
    /// - Parameter key: repeats a call that has thrown; see ``FanmillClient``.
    /// - Throws: `heart_too_soon` with ``FanmillError/retryAfter``, `celeb_not_registered`.
    @discardableResult
    public func give(_ celeb: CelebAccount, key: UUID = UUID()) async throws -> Heart {
      try await sender.value(APIRequest(.post, ["me", "celebs"] + celeb.path + ["hearts"]).keyed(key))
    }
  }
}
