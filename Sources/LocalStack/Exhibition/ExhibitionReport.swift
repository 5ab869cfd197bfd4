/// What `fanmill demo --keep` put into a stack, and how to look at it.
public struct ExhibitionReport: Codable, Sendable, Hashable {
  /// The address of the web client.
  public let url: String
  /// The visitor's account.
  public let username: String
  public let email: String
  /// The password of every account of the demo.
  public let password: String
  /// False if the stack had it all before.
  public let isNew: Bool
  public let accounts: Int
  public let posts: Int
  public let pictures: Int
  public let comments: Int
  public let likes: Int
  public let follows: Int
  public let messages: Int
  public let hearts: Int
  /// Ranked channels.
  public let channels: Int
  /// The visitor's.
  public let unreadNotifications: Int
  public let unreadMessages: Int
  public let seconds: Double
}
