/// The ids of posts, comments, notifications and messages in the API.
///
/// JSON clients read integers exactly only up to 2^53 − 1, and the locks on accounts and posts use the bits above that.
/// A larger number is no id, and reaches neither a query nor a lock.
public enum EntityID {
  public static let all = 0...((1 << 53) - 1)

  /// - Returns: nil if the text is not an id.
  public static func parse(_ text: some StringProtocol) -> Int? {
    guard let id = Int(text), all.contains(id) else { return nil }
    return id
  }
}
