/// Whether a celeb's account exists on its platform.
public enum CelebState: String, Sendable, Hashable, CaseIterable {
  /// YouTube has not been queried yet.
  case pending
  /// YouTube knows the channel.
  case verified
  /// YouTube does not know the channel: the celeb appears in no ranking and does not count toward a fan's limit.
  case unknown
  /// The platform, Instagram, cannot be queried.
  case unchecked
}
