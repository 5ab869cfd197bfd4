/// The numbers by which clients name posts, comments, notifications and messages.
///
/// A client's JSON reads them as they are only up to 2^53 − 1, and the locks on accounts and posts keep the bits above
/// for themselves: a larger number names nothing, and reaches neither a query nor a lock.
public enum EntityID {
  public static let all = 0...((1 << 53) - 1)

  /// - Returns: nil for what is no id.
  public static func parse(_ text: some StringProtocol) -> Int? {
    guard let id = Int(text), all.contains(id) else { return nil }
    return id
  }
}
