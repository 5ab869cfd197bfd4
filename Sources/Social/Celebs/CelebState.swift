/// Whether a celeb's account exists on its platform.
public enum CelebState: String, Sendable, Hashable, CaseIterable {
  /// YouTube has not been asked yet.
  case pending
  /// YouTube knows the channel.
  case verified
  /// YouTube knows no such channel: the celeb stands in no ranking, and takes up no place among a fan's.
  case unknown
  /// The platform, Instagram, cannot be asked.
  case unchecked
}
