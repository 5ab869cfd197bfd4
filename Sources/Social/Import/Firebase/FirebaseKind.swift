/// The kinds of records that an import from Firebase reads, in the order in which it does: each refers to earlier ones.
public enum FirebaseKind: String, Sendable, Hashable, CaseIterable, Codable {
  /// Users as Firebase Auth exports them: addresses and passwords.
  case auth
  /// Users' profiles.
  case users
  case posts
  /// Pictures of profiles and posts, in the storage's files.
  case pictures
  case follows
  case likes
  case comments
  case messages
  case notifications
  case celebs

  /// The kinds whose records are in the exports of databases.
  static let ofDatabases: [FirebaseKind] = [
    .users, .posts, .follows, .likes, .comments, .messages, .notifications, .celebs,
  ]
}
